"""Number work: no files, no threads of its own, no clocks, no torch."""
