"""
The store of several routers: tables of one PostgreSQL that they share.

Imported when a `postgresql:` address is given, and by nobody else: it needs the extra `postgres`.
"""
