"""Bytes at rest and how to get them out."""
