"""Packing: a source into shards, by several processes, stopped and resumed at will."""
