"""A ledger copied from a file into a database: resumable at any moment, compared at the end."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from router.clock import Clock
from router.errors import StoreRefused
from router.model.operations import Audit
from router.model.settings import DAY_MS
from router.model.store_address import DatabaseUrl
from router.store.moving.digests import Digest, as_kept
from router.store.moving.source import LEFT_OUT_MAX, ROWS, STEPS, FileLedger, LeftOut, fingerprint
from router.store.moving.tables import TABLES
from router.store.postgres.database import Database
from router.store.postgres.receiving import CopyProgress, Receiver
from router.store.sqlite import location, schema
from router.store.sqlite.connection import open_existing, refusing

COLUMNS = {table: tuple(columns) for table, columns in TABLES.items()}

Show = Callable[[int, int], None]
"""Called with how many rows are left, and of how many."""


class Compared(msgspec.Struct, frozen=True):
    """A table on both sides: how many rows, and their digest."""

    table: str
    rows: int
    digest: str
    copied_rows: int
    copied_digest: str

    @property
    def same(self) -> bool:
        """Whether all is there as it was."""
        return (self.rows, self.digest) == (self.copied_rows, self.copied_digest)


class Moved(msgspec.Struct, frozen=True):
    """A copy: its tables compared, and the rows that cannot be read."""

    tables: tuple[Compared, ...]
    left_out: tuple[LeftOut, ...]


async def copy(
    path: Path, url: str, *, clock: Clock, audit: Audit, show: Show, at_once: int = ROWS
) -> Moved:
    """
    Copy the ledger of a file that no server holds into a database that is empty, or holds a part
    of this copy, so many rows at once. It may be killed at any moment and asked for again. Routers
    refuse to work on the database until all its tables are the same.

    Raises:
        StoreRefused: a server holds the store, it has another schema, is damaged as a file, or the
            database holds something else.
        StoreUnavailable: the database cannot be reached now.
    """
    receiver = Receiver(Database(DatabaseUrl(url), clock, 4))
    with (
        refusing(path),
        closing(open_existing(path)) as db,
        closing(location.Lock(path)),
    ):
        db.execute("BEGIN")
        schema.require(db)
        fresh = CopyProgress(fingerprint(db), clock.now() // DAY_MS, next(iter(STEPS)))
        try:
            await receiver.open()
            begun = await receiver.begin(fresh)
            ended = await _copy(FileLedger(db, begun.today, at_once), receiver, begun, show)
            tables = await _compared(FileLedger(db, begun.today, at_once), receiver)
            if all(table.same for table in tables):
                await receiver.finish(ended, audit)
        finally:
            await receiver.close()
    return Moved(tables, tuple([LeftOut(*one) for one in ended.left_out]))


async def _copy(
    source: FileLedger, receiver: Receiver, begun: CopyProgress, show: Show
) -> CopyProgress:
    source.pass_over([LeftOut(*one) for one in begun.left_out])
    names, left = list(STEPS), source.count()
    total, standing = left, begun
    while standing.step in STEPS:
        after = None if standing.after is None else msgspec.msgpack.decode(standing.after)
        batch = await asyncio.to_thread(source.batch, standing.step, after)
        more = tuple([msgspec.structs.astuple(one) for one in batch.left_out])
        if len(left_out := standing.left_out + more) > LEFT_OUT_MAX:
            raise StoreRefused(f"more than {LEFT_OUT_MAX} rows cannot be read: restore a backup")
        place = None if batch.after is None else msgspec.msgpack.encode(batch.after)
        step = standing.step if place else [*names, ""][names.index(standing.step) + 1]
        reached = msgspec.structs.replace(standing, step=step, after=place, left_out=left_out)
        await receiver.add(standing, reached, batch.rows, COLUMNS)
        standing, left = reached, left - batch.read
        show(max(left, 0), total)
    return standing


async def _compared(source: FileLedger, receiver: Receiver) -> tuple[Compared, ...]:
    """Both sides read anew."""
    given = {table: Digest() for table in TABLES}
    for name in STEPS:
        after = None
        while True:
            batch = await asyncio.to_thread(source.batch, name, after)
            for table, rows in batch.rows.items():
                for row in rows:
                    given[table].add(as_kept(table, row))
            if (after := batch.after) is None:
                break
    found = {table: Digest() for table in TABLES}
    for table, digest in found.items():
        await receiver.each(table, COLUMNS[table], digest.add)
    return tuple(
        [
            Compared(table, own.rows, str(own), found[table].rows, str(found[table]))
            for table, own in given.items()
        ]
    )
