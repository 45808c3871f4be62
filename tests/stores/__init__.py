"""Stores of the present schema as an earlier program left them, and what today's makes of them."""
