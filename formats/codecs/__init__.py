"""Codecs: one file each. See `codec`."""
