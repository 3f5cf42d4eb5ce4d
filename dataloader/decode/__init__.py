"""Turns bytes at rest into values, straight into a ticket's slot."""
