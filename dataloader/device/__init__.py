"""Allocates slots and moves batches to the accelerator."""
