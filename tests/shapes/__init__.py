"""Shapes and catalogues made from what senders publish, and held against their payloads."""
