"""End to end against other loaders: one file a workload, one function a peer, one runner.

Not part of an installation. docs/benchmarks.md has the method and the figures.
"""
