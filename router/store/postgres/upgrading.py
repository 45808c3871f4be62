"""What is done to the tables from outside a router."""

from router.clock import SystemClock
from router.model.store_address import POOL_MIN, DatabaseUrl
from router.store.postgres import schema
from router.store.postgres.database import Database
from router.store.values import MigrationStep


async def upgrade(url: str, *, only_look: bool) -> MigrationStep:
    """
    Bring the tables to today's schema while routers work on them; `only_look`: say what that would
    do.

    Raises:
        StoreRefused: the server refuses us, or newer routers have changed them.
        StoreUnavailable: it cannot be reached now.
    """
    db = Database(DatabaseUrl(url), SystemClock(), POOL_MIN)
    try:
        await db.open()
        return await db.write.run(schema.due if only_look else schema.migrate)
    finally:
        await db.close()
