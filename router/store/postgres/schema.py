"""The schema's versions: each migration is one file, applied in one transaction."""

import re
from pathlib import Path

from router.errors import StoreRefused
from router.store.postgres.connection import Connection
from router.store.values import MigrationStep

_FILES = sorted((Path(__file__).parent / "migrations").glob("[0-9]*.sql"))
MIGRATIONS = tuple([path.read_text("utf-8") for path in _FILES])
NAMES = tuple([path.stem for path in _FILES])

TABLES = tuple(re.findall(r"^CREATE TABLE (\w+) \(", "".join(MIGRATIONS), re.MULTILINE))
"""All of them, their partitions left out."""

OLDEST_PROGRAM = 1
"""The lowest schema that a program may know and still work on what these migrations make."""

SERVER_MIN = 140_000
_LOCK = 0x57_48_52_31
"""One router migrates at a time; the others wait for it."""
_LASTS_S = 600
_WAITS = f"SET LOCAL statement_timeout = '{_LASTS_S}s'; SET LOCAL lock_timeout = 0"
_WORKS = "SET LOCAL lock_timeout = '2s'"
"""Whoever works on the tables meanwhile waits behind what waits for them."""


async def check(connection: Connection) -> int:
    """
    The schema's version in this database; 0: there is none yet.

    Raises:
        StoreRefused: the server is too old, or routers newer than this one have changed the tables
            so that this one would not understand them.
    """
    server = int(await connection.fetchval("SHOW server_version_num"))
    if server < SERVER_MIN:
        raise StoreRefused(
            f"this is PostgreSQL {server // 10_000}; "
            f"the router needs {SERVER_MIN // 10_000} or newer"
        )
    if await connection.fetchval("SELECT to_regclass('ledger')") is None:
        return 0
    row = await connection.fetchrow("SELECT schema, oldest_program FROM ledger")
    if row is None or row["oldest_program"] > len(MIGRATIONS):
        raise StoreRefused(
            f"the store's tables need a router that knows schema {row and row['oldest_program']}; "
            f"this one knows {len(MIGRATIONS)}: install a newer one"
        )
    return int(row["schema"])


async def due(connection: Connection) -> MigrationStep:
    """What `migrate` would do; nothing is changed. Raises StoreRefused: as `check`."""
    found = await check(connection)
    restored = found > 0 and not await _is_numbered_here(connection)
    return MigrationStep(found, max(found, len(MIGRATIONS)), NAMES[found:], restored)


async def migrate(
    connection: Connection, migrations: tuple[str, ...] = MIGRATIONS
) -> MigrationStep:
    """
    Bring the tables to the newest version; routers of the version before go on working with them.

    Raises:
        StoreRefused: as `check`.
    """
    step = await due(connection)
    if step.before >= len(migrations) and not step.restored:
        return step
    async with connection.transaction():
        await connection.execute(_WAITS)
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK, timeout=_LASTS_S)
        await connection.execute(_WORKS)
        step = await due(connection)
        for number in range(step.before + 1, len(migrations) + 1):
            await connection.execute(migrations[number - 1], timeout=_LASTS_S)
            await connection.execute(
                "INSERT INTO ledger (schema, oldest_program) VALUES ($1, $2) ON CONFLICT (one) "
                "DO UPDATE SET schema = excluded.schema, oldest_program = excluded.oldest_program",
                number,
                OLDEST_PROGRAM,
            )
        if not await _is_numbered_here(connection):
            await _number_on(connection)
    return step


async def fingerprint_key(connection: Connection) -> bytes:
    """With which fingerprints of this ledger are made."""
    return bytes(await connection.fetchval("SELECT fingerprint_key FROM ledger"))


async def _database(connection: Connection) -> str:
    """The server and the database that number our transactions."""
    database = "SELECT oid::text FROM pg_database WHERE datname = current_database()"
    found = [str(await connection.fetchval(database))]
    if await connection.fetchval("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"):
        server = "SELECT system_identifier::text FROM pg_control_system()"
        found.insert(0, str(await connection.fetchval(server)))
    return "/".join(found)


async def _is_numbered_here(connection: Connection) -> bool:
    return bool(
        await connection.fetchval("SELECT numbered_by FROM ledger") == await _database(connection)
    )


async def _number_on(connection: Connection) -> None:
    """
    The ledger is new, or was restored from a dump. Then its deliveries have numbers of transactions
    elsewhere, and ours go on behind the highest; who follows it learns that it is another one.
    """
    await connection.execute(
        "UPDATE ledger SET id = gen_random_uuid(), numbered_by = $1", await _database(connection)
    )
    newest = "SELECT xid FROM deliveries ORDER BY xid DESC LIMIT 1"
    if ahead := await connection.fetchval(newest):
        await connection.execute("UPDATE ledger SET ahead = $1", ahead)
        await connection.execute(
            "ALTER TABLE deliveries ALTER xid SET DEFAULT "
            f"(pg_current_xact_id()::text::bigint + {ahead})::text::xid8"
        )
