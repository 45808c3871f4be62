"""Stores as earlier programs left them, one of each schema, and what today's makes of them."""
