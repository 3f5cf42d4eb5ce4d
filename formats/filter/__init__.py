"""Filters: expressions over stored fields, and the rows for which they are true."""
