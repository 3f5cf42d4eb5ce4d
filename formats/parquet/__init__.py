"""Parquet shards: our profile of the format, and what others write."""
