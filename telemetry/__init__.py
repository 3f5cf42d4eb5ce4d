"""What happened: spans, counters, stats, traces and the verdict."""
