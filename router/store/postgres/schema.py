"""The schema of the tables: one script, run in one transaction."""

import re
from pathlib import Path

from router.errors import StoreRefused
from router.store.postgres.connection import Connection

VERSION = 4
SCRIPT = Path(__file__).with_name("schema.sql").read_text("utf-8")

TABLES = tuple(re.findall(r"^CREATE TABLE (\w+) \(", SCRIPT, re.MULTILINE))
"""All of them, their partitions left out."""

OLDEST_PROGRAM = 1
"""The lowest schema that a program may know and still work on these tables."""

SERVER_MIN = 140_000
_LOCK = 0x57_48_52_31
"""One router makes the tables at a time; the others wait for it."""
_LASTS_S = 600
_WAITS = f"SET LOCAL statement_timeout = '{_LASTS_S}s'; SET LOCAL lock_timeout = 0"


async def check(connection: Connection) -> bool:
    """
    Whether the tables are there; False: there is none yet.

    Raises:
        StoreRefused: the server is too old, or the tables have a schema that this router does not
            know.
    """
    server = int(await connection.fetchval("SHOW server_version_num"))
    if server < SERVER_MIN:
        raise StoreRefused(
            f"this is PostgreSQL {server // 10_000}; "
            f"the router needs {SERVER_MIN // 10_000} or newer"
        )
    if await connection.fetchval("SELECT to_regclass('ledger')") is None:
        return False
    row = await connection.fetchrow("SELECT schema, oldest_program FROM ledger")
    if row is None or row["oldest_program"] > VERSION:
        raise StoreRefused(
            f"the store's tables need a router that knows schema {row and row['oldest_program']}; "
            f"this one knows {VERSION}: install a newer one"
        )
    if row["schema"] < VERSION:
        raise StoreRefused(
            f"the store's tables have schema {row['schema']}, this router knows {VERSION}: they "
            "were made by an earlier development version, and nothing of that schema was released. "
            f"Start with an empty database, or bring this one to schema {VERSION} first: "
            "`router store migrate` of commit 1f9af773"
        )
    return True


async def make(connection: Connection) -> None:
    """
    Make the tables, if there are none; number a ledger on that was restored from a dump.

    Raises:
        StoreRefused: as `check`.
    """
    if await check(connection) and await _is_numbered_here(connection):
        return
    async with connection.transaction():
        await connection.execute(_WAITS)
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK, timeout=_LASTS_S)
        if not await check(connection):
            await connection.execute(SCRIPT, timeout=_LASTS_S)
            await connection.execute(
                "INSERT INTO ledger (schema, oldest_program) VALUES ($1, $2)",
                VERSION,
                OLDEST_PROGRAM,
            )
        if not await _is_numbered_here(connection):
            await _number_on(connection)


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
