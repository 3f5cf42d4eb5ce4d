"""Makes the blocks that a ticket names resident, and runs user datasets."""
