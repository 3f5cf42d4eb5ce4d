"""Tickets, slots, faults, queues and the runner that moves them."""
