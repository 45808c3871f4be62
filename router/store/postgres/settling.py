"""Settling attempts: only the holder of the current lease changes anything."""

from collections.abc import Mapping, Sequence

from router.errors import RouterError, StoreUnavailable
from router.model.job import Settlement
from router.store.common.damage import Damaged
from router.store.postgres import ends, runs
from router.store.postgres.accepting import accept_within
from router.store.postgres.database import Database, Tx
from router.store.postgres.failures import TO_BLAME, unstorable
from router.store.values import ALREADY, HELD, LOST, Acceptance, Accepted, Settled

Ending = tuple[Settlement, Acceptance | None]
"""A settlement, and the router's own delivery about it."""

AGAIN_S, AGAIN_PAUSE_S = 5.0, 0.1
"""How long ends of unknown outcome are written again, and how often after the second time."""


async def settle_all(db: Database, group: Sequence[Ending]) -> Sequence[Settled | RouterError]:
    """
    Write the ends of a group: what became of each, in order. One that cannot be stored fails alone.

    Raises:
        StoreUnavailable: what became of them is not known; Damaged: a row cannot be read.
    """
    if len({end.job for end, _ in group}) < len(group):  # who comes twice is judged twice
        return [answer for ending in group for answer in await settle_all(db, [ending])]
    answers = _Answers(db, group)
    began, pause = db.clock.monotonic(), 0.0
    while True:
        try:
            await answers.find()
        except Damaged:
            raise
        except StoreUnavailable:
            if db.clock.monotonic() - began >= AGAIN_S:
                raise
        else:
            return answers.in_order()
        await db.clock.sleep(pause)
        pause = AGAIN_PAUSE_S


class _Answers:
    """What became of each of a group, by its job: what is known stays so."""

    def __init__(self, db: Database, group: Sequence[Ending]) -> None:
        self._db, self._group = db, group
        self._now = db.clock.ledger()
        self._known: dict[str, Settled | RouterError] = {}

    def in_order(self) -> Sequence[Settled | RouterError]:
        for end, _ in self._group:
            self._db.running.pop(end.job, None)
        return [self._known[end.job] for end, _ in self._group]

    async def find(self) -> None:
        """Raises StoreUnavailable."""
        try:
            await self._find(self._group)
        except TO_BLAME:
            for ending in self._group:
                await self._find_alone(ending)

    async def _find_alone(self, ending: Ending) -> None:
        try:
            await self._find([ending])
        except TO_BLAME as error:
            self._known[ending[0].job] = unstorable(error)

    async def _find(self, group: Sequence[Ending]) -> None:
        """Of jobs by themselves by one statement, of all others in a transaction."""
        group = [ending for ending in group if ending[0].job not in self._known]
        db = self._db
        await db.number({end.attempt.generation for end, _ in group})
        of, numbers = db.running, db.numbers
        alone = [(of[end.job], end) for end, own in group if own is None and end.job in of]
        if alone:
            held = await db.state(
                len(alone), lambda tx: ends.write(tx, alone, numbers), db.dispatch
            )
            self._known |= dict.fromkeys(held, HELD)
        if left := [ending for ending in group if ending[0].job not in self._known]:
            now = self._now
            self._known |= await db.transact(
                lambda tx: _settle(tx, left, numbers, now), db.dispatch
            )


async def _settle(
    tx: Tx, group: Sequence[Ending], numbers: Mapping[str, int], now: int
) -> dict[str, Settled]:
    """Any of them, with what follows for the runs of these jobs, and the router's own events."""
    of = await _holding(tx, [end for end, _ in group])
    linked = sorted({run for _, run in of.values() if run is not None})
    answers: dict[str, Settled] = {}
    async with runs.changing(tx, now, runs=linked) as changes:
        mine = [(of[end.job][0], end) for end, _ in group if end.job in of]
        held = await ends.write(tx, mine, numbers)
        for job in sorted(held):
            answers[job] = HELD
            if (run := of[job][1]) is not None:
                await changes.follow(run)
                freed, cancelled = changes.outcome()
                answers[job] = Settled(freed=freed, cancelled=cancelled)
    refused = [end for end, _ in group if end.job not in held]
    written = await ends.written(tx, refused)
    answers |= {end.job: ALREADY if end.job in written else LOST for end in refused}
    owns = [(end.job, own) for end, own in group if own is not None and end.job in held]
    if owns:
        await _report(tx, owns, answers, now)
    return answers


async def _holding(tx: Tx, given: Sequence[Settlement]) -> dict[str, tuple[str, str | None]]:
    """Delivery and run of each of these jobs that its lease holds now."""
    leases = {end.job: end.lease for end in given}
    sql = "SELECT job, lease, delivery, run FROM queue WHERE job = ANY($1::uuid[])"
    found = [(f"job_{job}", *rest) for job, *rest in await tx.all(sql, list(leases))]
    return {
        job: (f"dlv_{delivery}", run and f"job_{run}")
        for job, lease, delivery, run in found
        if lease == leases[job]
    }


async def _report(
    tx: Tx, owns: Sequence[tuple[str, Acceptance]], answers: dict[str, Settled], now: int
) -> None:
    """Accept the own events about these ends: their leases held, so all of them are true."""
    receipts = await accept_within(tx, [own for _, own in owns], now)
    for (job, _), receipt in zip(owns, receipts, strict=True):
        if isinstance(receipt, Accepted) and receipt.cancelled:
            before = answers[job]
            cancelled = tuple(sorted((*before.cancelled, *receipt.cancelled)))
            answers[job] = Settled(freed=before.freed, cancelled=cancelled)
