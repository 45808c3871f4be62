"""
MANAGEMENT: calls of the senders' own APIs, built as data in `providers/` and sent here.

Subscriptions are made within the sender's limits, published address ranges are kept fresh, and
no error and no record ever holds a token.
"""
