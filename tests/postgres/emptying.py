"""A database's rows are taken away, its tables stay."""

import asyncpg

KEPT = ("ledger",)
"""What the router writes when it makes the tables."""

TABLES = """
    SELECT c.oid::regclass::text FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    AND NOT c.relispartition AND c.relname <> ALL ($1::text[])
"""
NUMBERED = """
    SELECT setval(c.oid::regclass, 1, false) FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'
"""


async def emptied(address: str) -> None:
    """
    In one transaction; numbers begin anew. By DELETE: TRUNCATE makes new files, which costs a
    store with partitions 30 ms instead of 10.
    """
    connection = await asyncpg.connect(address)
    try:
        names = [row[0] for row in await connection.fetch(TABLES, list(KEPT))]
        deletes = [f"DELETE FROM {one}" for one in names]  # noqa: S608 - quoted by the server
        await connection.execute("; ".join([*deletes, NUMBERED]))
    finally:
        await connection.close()
