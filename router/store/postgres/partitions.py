"""The days of the big tables: where each row of a day lies, so that a day can go at once."""

from router.store.postgres.database import Tx
from router.store.postgres.ids import encode_id

DAY_MS = 86_400_000
AHEAD = 7
"""Days that are there before they begin."""
DAYS = ("deliveries", "jobs", "attempts")


def first_id(day: int) -> str:
    """The lowest id of a day (days since 1970), as PostgreSQL writes a uuid."""
    text = (day * DAY_MS).to_bytes(6, "big").hex() + "0" * 20
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


async def prepare(tx: Tx, now: int) -> None:
    """
    See to it that the partitions from the day before `now` (ledger time) until `AHEAD` days after
    are there.
    """
    today = now // DAY_MS
    for day in range(today - 1, today + AHEAD + 1):
        await add(tx, day)


def day_of(id_: str) -> int:
    """The day that an id lies in."""
    return int.from_bytes(encode_id(id_)[:6], "big") // DAY_MS


async def add(tx: Tx, day: int) -> None:
    """See to it that the partitions of a day are there."""
    for table in DAYS:
        name = f"{table}_{day}"
        if await tx.one("SELECT to_regclass($1::text)", name) is None:
            await tx.run(
                f"CREATE TABLE {name} PARTITION OF {table}_days "
                f"FOR VALUES FROM ('{first_id(day)}') TO ('{first_id(day + 1)}')"
            )
