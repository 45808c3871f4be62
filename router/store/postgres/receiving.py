"""A ledger that comes from elsewhere: batch after batch, and how far it is, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from router.errors import StoreRefused
from router.model.operations import Audit
from router.store.postgres import audit_log, partitions, schema
from router.store.postgres.connection import Connection, Lane
from router.store.postgres.database import Database, Tx
from router.store.postgres.failures import Unstorable
from router.store.postgres.sessions import open_first

UNFINISHED, COPIED = "copy/unfinished", "copy/finished"
"""Facts: how far a copy into this database is, and of which ledger it was made."""
STATEMENT_S = 600.0
_FETCHED = 1_000

_FIND = "SELECT value FROM facts WHERE name = $1"
_FINISH = (
    "INSERT INTO groups SELECT key, max(n) + 1 FROM runs WHERE key IS NOT NULL GROUP BY key",
    *[
        f"SELECT setval(pg_get_serial_sequence('{table}', 'n'), max(n)) FROM {table}"
        for table in ("generations", "replays", "audit")
    ],
)

Rows = Mapping[str, Sequence[tuple[Any, ...]]]


class CopyProgress(msgspec.Struct, frozen=True):
    """
    How far a copy of the ledger `source` is: in the step `step`, behind the place `after` (msgpack,
    None: at its beginning). `today` is the day on which it began, `left_out` what cannot be read.
    """

    source: str
    today: int
    step: str
    after: bytes | None = None
    left_out: tuple[tuple[str, str, str], ...] = ()


async def refuse_unfinished(connection: Connection) -> None:
    """Nobody works on half a ledger. Raises StoreRefused."""
    if await connection.fetchval(_FIND, UNFINISHED) is not None:
        raise StoreRefused(
            "a ledger is being copied into this database: run `router store copy` again until it "
            "ends well, or empty the database"
        )


class Receiver:
    """The database that a ledger is copied into."""

    def __init__(self, db: Database) -> None:
        settings = {"idle_in_transaction_session_timeout": "10min"}
        self._db = db
        self._lane = Lane(db.address, "copy", 1, STATEMENT_S, settings)
        self._days = set[int]()

    async def open(self) -> None:
        """Make the tables. Raises StoreRefused, StoreUnavailable."""
        await open_first(self._lane, self._db.read)
        await self._lane.run(schema.make)

    async def close(self) -> None:
        """Close its connections."""
        await self._lane.close()
        await self._db.close()

    async def begin(self, fresh: CopyProgress) -> CopyProgress:
        """
        How far the copy is that `fresh` begins, if nothing of it is there.

        Raises:
            StoreRefused: the database holds another ledger, or another copy.
        """

        async def begin(tx: Tx) -> CopyProgress:
            await tx.run("LOCK TABLE facts IN EXCLUSIVE MODE")
            if (raw := await tx.one(_FIND, UNFINISHED)) is not None:
                return _same(msgspec.json.decode(raw, type=CopyProgress), fresh)
            if await tx.one(_FIND, COPIED) == msgspec.json.encode(fresh.source):
                raise StoreRefused("this ledger has been copied there already")
            for table in schema.TABLES:
                if table != "ledger" and await tx.one(f"SELECT EXISTS (SELECT FROM {table})"):
                    raise StoreRefused(
                        f"the database holds a ledger already ({table}): name an empty one"
                    )
            await tx.run(
                "INSERT INTO facts VALUES ($1, $2, 0)", UNFINISHED, msgspec.json.encode(fresh)
            )
            return fresh

        return await self._db.transact(begin, self._lane)

    async def add(
        self,
        before: CopyProgress,
        after: CopyProgress,
        rows: Rows,
        columns: Mapping[str, Sequence[str]],
    ) -> None:
        """
        Add these rows, with which the copy is as far as `after`. Raises StoreRefused: another
        command copies too, or the database does not take them.
        """

        async def add(tx: Tx) -> None:
            await self._hold(tx, before)
            await partitions.add(tx, *sorted(_days(rows) - self._days))
            for table, given in rows.items():
                await tx.connection.copy_records_to_table(
                    table, records=given, columns=columns[table]
                )
            await tx.run(
                "UPDATE facts SET value = $2 WHERE name = $1",
                UNFINISHED,
                msgspec.json.encode(after),
            )

        try:
            await self._db.transact(add, self._lane)
        except Unstorable as error:
            raise StoreRefused(f"the copy stops: {error}") from error
        self._days |= _days(rows)

    async def each(
        self, table: str, columns: Sequence[str], take: Callable[[tuple[Any, ...]], None]
    ) -> None:
        """Every row of a table, of bodies their SHA-256, but not what the copy itself noted."""
        chosen = ", ".join(["sha256(body)" if name == "body" else name for name in columns])
        own = " WHERE NOT starts_with(name, 'copy/')" if table == "facts" else ""
        sql = f"SELECT {chosen} FROM {table}{own}"

        async def read(connection: Connection) -> None:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                async for row in connection.cursor(sql, prefetch=_FETCHED):
                    take(tuple(row))

        await self._lane.run(read)

    async def finish(self, before: CopyProgress, audit: Audit) -> None:
        """All is there: routers may work on it. Raises StoreRefused, StoreUnavailable."""

        async def finish(tx: Tx) -> None:
            await self._hold(tx, before)
            for sql in _FINISH:
                await tx.run(sql)
            await audit_log.note(tx, audit)
            await tx.run(
                "UPDATE facts SET name = $2, value = $3, updated_at = $4 WHERE name = $1",
                UNFINISHED,
                COPIED,
                msgspec.json.encode(before.source),
                audit.at,
            )

        await self._db.transact(finish, self._lane)
        await self._lane.run(lambda connection: connection.execute("ANALYZE"))

    async def _hold(self, tx: Tx, progress: CopyProgress) -> None:
        held = await tx.one(f"{_FIND} FOR UPDATE", UNFINISHED)
        if held != msgspec.json.encode(progress):
            raise StoreRefused("another command copies into this database at the same time")


def _same(found: CopyProgress, fresh: CopyProgress) -> CopyProgress:
    if found.source != fresh.source:
        raise StoreRefused(
            "the database holds a part of another copy, or the store has been served since that "
            "began: empty the database and begin anew"
        )
    return found


def _days(rows: Rows) -> set[int]:
    """The days in which these rows lie that are not kept."""
    return {
        partitions.day_of(row[day])
        for table, day, kept in (("deliveries", 0, 1), ("jobs", 2, 1), ("attempts", 0, 2))
        for row in rows.get(table, ())
        if not row[kept]
    }
