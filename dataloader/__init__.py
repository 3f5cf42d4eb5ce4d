"""The flow from shards to batches: plan, fetch, decode, batch, device."""
