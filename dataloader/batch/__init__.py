"""Declares a batch's shape and seals it."""
