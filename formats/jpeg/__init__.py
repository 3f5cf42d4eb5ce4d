"""Seekable JPEG at rest; SPEC.md says what it is."""
