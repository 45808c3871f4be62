"""Sessions of routers that nobody talks to any more, in the middle of what they did."""

from router.store.postgres.connection import IDLE_S, Connection
from router.store.postgres.database import Database

WRITING = tuple([f"router {purpose}" for purpose in ("write", "dispatch", "node")])
"""What their sessions call themselves. Who reads locks no rows; who copies a ledger is patient."""

# The server ends a session that is idle in a transaction. To it this one is not idle: it was told
# to prepare a statement, or has an answer half sent, and waits for its client to go on.
_END = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
        AND application_name = ANY($1::text[]) AND state = 'active'
        AND wait_event IN ('ClientRead', 'ClientWrite')
        AND state_change < clock_timestamp() - $2 * interval '1 second'
"""


async def end_abandoned(db: Database, idle_s: float = IDLE_S) -> int:
    """
    End the sessions that have waited for their router so long while they hold locks; how many. A
    router that is cut off would have the others wait until its connections are given up.
    """

    async def end(connection: Connection) -> int:
        return len(await connection.fetch(_END, WRITING, idle_s))

    return await db.dispatch.run(end)
