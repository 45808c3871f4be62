"""A database's rows are taken away, its tables stay."""

import asyncpg

EMPTIED = """
DO $$ DECLARE one regclass; BEGIN
    FOR one IN
        SELECT oid FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'ledger'
        AND pg_relation_size(oid) > 0
    LOOP EXECUTE 'DELETE FROM ' || one; END LOOP;
    PERFORM setval(oid::regclass, 1, false) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'S';
END $$
"""
"""
Without the row of `ledger`, which the router writes when it makes the tables. By DELETE, and each
partition for itself: TRUNCATE makes new files, and a plan for all partitions takes longer.
"""


async def emptied(address: str) -> None:
    """In one transaction; numbers begin anew."""
    connection = await asyncpg.connect(address)
    try:
        await connection.execute(EMPTIED)
    finally:
        await connection.close()
