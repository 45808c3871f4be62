"""The days of the big tables: where each row of a day lies, so that a day can go at once."""

from router.model.ids import earliest
from router.model.settings import DAY_MS
from router.store.postgres.database import Tx
from router.store.postgres.ids import ULID_LENGTH, time_of

AHEAD = 7
"""Days that are there before they begin."""
DAYS = ("deliveries", "jobs", "attempts")
LOCK = 0x57_48_52_32
"""Whoever adds or removes days holds this advisory lock, until the end of the transaction."""


def first_id(day: int) -> str:
    """The lowest id of a day (days since 1970), as PostgreSQL writes a uuid."""
    text = (day * DAY_MS).to_bytes(6, "big").hex() + "0" * 20
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def start(at: int) -> str:
    """The lowest id of this millisecond."""
    return earliest("dlv", at).ljust(ULID_LENGTH + 4, "0")


async def prepare(tx: Tx, now: int) -> None:
    """
    See to it that the partitions from the day before `now` (ledger time) until `AHEAD` days after
    are there.
    """
    today = tx.db.wall(now) // DAY_MS
    await add(tx, *range(today - 1, today + AHEAD + 1))


def day_of(id_: str) -> int:
    """The day that an id lies in."""
    return time_of(id_) // DAY_MS


async def add(tx: Tx, *days: int) -> None:
    """See to it that the partitions of these days are there. Nobody who reads or writes waits."""
    wanted = {f"{table}_{day}": (table, day) for day in days for table in DAYS}
    if wanted.keys() <= await _names(tx):
        return
    await tx.run("SELECT pg_advisory_xact_lock($1)", LOCK)
    for name in wanted.keys() - await _names(tx):
        table, day = wanted[name]
        # Not by PARTITION OF: that would wait for all that is under way, and all would wait for it.
        await tx.run(
            f"CREATE TABLE {name} (LIKE {table}_days INCLUDING DEFAULTS INCLUDING INDEXES "
            "INCLUDING STORAGE)"
        )
        await tx.run(
            f"ALTER TABLE {table}_days ATTACH PARTITION {name} "
            f"FOR VALUES FROM ('{first_id(day)}') TO ('{first_id(day + 1)}')"
        )


async def there(tx: Tx) -> list[int]:
    """The days that have partitions, the oldest first."""
    return sorted({int(name.rpartition("_")[2]) for name in await _names(tx)})


async def _names(tx: Tx) -> set[str]:
    rows = await tx.all(
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
        "WHERE i.inhparent = ANY ($1::text[]::regclass[])",
        [f"{table}_days" for table in DAYS],
    )
    return {name for (name,) in rows}
