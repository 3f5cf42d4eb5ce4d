"""The order of an epoch, and the tickets cut from it."""
