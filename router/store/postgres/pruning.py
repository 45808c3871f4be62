"""What retention removes: days at once, single deliveries in bounded steps, and what they leave."""

import asyncio
from functools import partial

from router.model.settings import DAY_MS
from router.store.common import activity
from router.store.postgres import audit_log, partitions, runs
from router.store.postgres.database import Database, Tx
from router.store.postgres.day_removal import Busy, DayRemoval
from router.store.postgres.finished import WINDOWS, Ages
from router.store.postgres.single_removal import ALWAYS, Sweep, may_go
from router.store.removal import Pruned, Retain

KEYS, BATCHES = 500, 20
"""Expired keys that one transaction removes, and transactions of one step."""
LEFT = 1_000
"""Rows of removed deliveries elsewhere that one transaction removes."""

# As an array they are looked for once; as a set, once for each row, if the planner thinks so.
_KEYS = (
    "DELETE FROM keys WHERE key = ANY (ARRAY"
    "(SELECT key FROM keys WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED))"
)
_LEFT_BEHIND = (
    "SELECT %s FROM %s o WHERE o.delivery < $1 "
    "AND NOT EXISTS (SELECT FROM deliveries_kept k WHERE k.id = o.delivery) LIMIT $2"
)
_UNNAMED = """
    named_on < $1
    AND NOT EXISTS (SELECT FROM nodes WHERE NOT gone AND card ->> 'generation' = g.id)
    AND id IS DISTINCT FROM (SELECT generation FROM published ORDER BY seq DESC LIMIT 1)
"""
_SOME_UNNAMED = f"SELECT n FROM generations g WHERE {_UNNAMED} ORDER BY n LIMIT 10"
_KEEPS = """
    SELECT EXISTS (SELECT FROM deliveries WHERE kept AND generation = $1)
    OR EXISTS (SELECT FROM jobs WHERE kept AND generation = $1)
    OR EXISTS (SELECT FROM attempts WHERE kept AND generation = $1)
"""


class Pruner:
    """One node's turns of retention. It remembers how far its searches have come."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._day: DayRemoval | None = None
        self._kept = Sweep(db, kept=True)
        self._later = Sweep(db, kept=False)
        self._turn = asyncio.Lock()

    async def step(self, retain: Retain, now: int) -> Pruned:
        """One bounded step of everything."""
        async with self._turn:
            return await self._step(retain, now)

    async def _step(self, retain: Retain, now: int) -> Pruned:
        db, ages = self._db, Ages.of(retain, now, self._db.clock.offset)
        await db.transact(lambda tx: partitions.prepare(tx, now))
        with_days, early = await self._whole_days(ages)
        kept = await self._kept.step(ages, (0, ALWAYS), retain.limit, now)
        singles = (ages.days() * DAY_MS, ages.singles())
        later = 0  # there is room first where whole days have been
        if not early:
            later = await self._later.step(ages, singles, retain.limit - kept, now)
        keys = await self._expired_keys(now)
        await db.transact(lambda tx: audit_log.prune(tx, db.wall(retain.audit_before)))
        await db.transact(lambda tx: tx.each(activity.PRUNE, activity.old(db.wall(now))))
        await db.transact(lambda tx: _clear_up(tx, now))
        generations = await self._generations()
        more = self._day is not None or self._kept.is_amid or self._later.is_amid
        return Pruned(with_days + kept + later, keys, generations, more)

    async def _whole_days(self, ages: Ages) -> tuple[int, bool]:
        """
        How many went with their days, and whether a day was too young to go but for the room that
        it takes: of such days one goes in a step, then it is seen how much room there is.
        """
        gone, windows, early = 0, 0, False
        while windows < WINDOWS and (day := await self._next_day(ages)) is not None:
            windows += await day.look(self._db)
            early = day.day >= ages.expired() and day.deliveries > 0
            if day.is_through:
                self._day = None
                try:
                    dropped = await self._db.transact(day.drop)
                except Busy:
                    self._day = day
                    break
                gone += day.deliveries if dropped else 0
                if early:
                    break
        return gone, early

    async def _next_day(self, ages: Ages) -> DayRemoval | None:
        """The oldest day, if it goes by these ages: looked through as far as it still counts."""
        oldest = min(await self._db.ask(partitions.there))
        if oldest >= ages.days():
            self._day = None
        elif self._day is None or self._day.day != oldest or not ages.reaches(self._day.ages):
            self._day = DayRemoval(oldest, ages)
        return self._day

    async def _expired_keys(self, now: int) -> int:
        total = 0
        for _ in range(BATCHES):
            removed = await self._db.transact(lambda tx: tx.run(_KEYS, now, KEYS))
            total += removed
            if removed < KEYS:
                break
        return total

    async def _generations(self) -> int:
        """Remove some that nothing names; none younger than a day."""
        db = self._db
        oldest = min(await db.ask(partitions.there))
        # Rows lie in the day of their ids, which may be the day after that on which it was noted.
        limit = oldest - 1
        removed = 0
        for (n,) in await db.ask(lambda tx: tx.all(_SOME_UNNAMED, limit)):
            if await db.ask(partial(_is_kept, n=n)):
                await db.transact(partial(_look_later, n=n, day=oldest))
            else:
                removed += await db.transact(partial(_forget, n=n, limit=limit))
        return removed


async def removable(db: Database, retain: Retain, now: int) -> tuple[int, int]:
    """
    How many deliveries, and how many keys, may go now; nothing is removed. A window at a time, as
    no question may take so long that vacuums wait for it.
    """
    ages = Ages.of(retain, now, db.clock.offset)
    later = max(ages.days() * DAY_MS, ages.singles())
    deliveries = 0
    for kept, until in ((True, ALWAYS), (False, later)):
        first, end = partitions.start(0), partitions.start(until)
        while first < end:
            first, going = await db.ask(partial(may_go, ages, first, end, kept=kept))
            deliveries += len(going)
    keys = await db.ask(lambda tx: tx.one("SELECT count(*) FROM keys WHERE until <= $1", now))
    return deliveries, int(keys)


async def _is_kept(tx: Tx, n: int) -> bool:
    return bool(await tx.one(_KEEPS, n))


async def _look_later(tx: Tx, n: int, day: int) -> None:
    """What outlives its day names this generation: that is looked for once a day or two."""
    await tx.run("UPDATE generations SET named_on = greatest(named_on, $2) WHERE n = $1", n, day)


async def _forget(tx: Tx, n: int, limit: int) -> int:
    removed = await tx.run(f"DELETE FROM generations g WHERE n = $2 AND {_UNNAMED}", limit, n)
    if removed:
        await tx.run("DELETE FROM rule_generations WHERE generation = $1", n)
    return removed


async def _clear_up(tx: Tx, now: int) -> None:
    """Remove some of what days that went at once have left in other tables."""
    before = partitions.start(min(await partitions.there(tx)) * DAY_MS)
    copies = await tx.all(_LEFT_BEHIND % ("delivery", "copies"), before, LEFT)
    gone = [f"dlv_{id_}" for (id_,) in copies]
    await tx.run("DELETE FROM copies WHERE delivery = ANY ($1)", gone)
    left = await tx.all(_LEFT_BEHIND % ("id", "runs"), before, LEFT)
    if left:
        ids = [f"job_{id_}" for (id_,) in left]
        await runs.forget(tx, now, "r.id = ANY ($1)", ids)
