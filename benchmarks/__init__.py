"""Benchmarks for pytest-benchmark, one file a room."""
