"""Making deliveries durable: keys decide what is new, then delivery and jobs follow."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TypeVar

import asyncpg
import msgspec

from router.clock import Clock
from router.errors import RouterError, StoreUnavailable
from router.store.common.claims import Claim, Receipt, claimed, judge, new_parts
from router.store.common.columns import decode_events
from router.store.postgres import partitions, runs
from router.store.postgres.accepting_at_once import accept_at_once, is_usual
from router.store.postgres.database import Database, Tx
from router.store.postgres.delivery_rows import (
    DELIVERY_TYPES,
    KEY_TYPES,
    TAKE_KEYS,
    NewRows,
    generations,
    key_columns,
    storing,
)
from router.store.postgres.failures import TO_BLAME, Crossed, Unstorable, unstorable
from router.store.postgres.job_rows import columns, insert, unnested
from router.store.postgres.notices import tell
from router.store.values import Acceptance, Accepted

T = TypeVar("T")

DELIVERIES, BYTES = 256, 4 * 1024 * 1024
"""Of one transaction, unless a single group has more."""
AGAIN_S, PAUSE_S = 2.0, 0.05
"""How long an outcome is asked for, and how long is waited between two tries."""

_KNOWN = "SELECT id, events FROM deliveries WHERE id = ANY ($1) FOR KEY SHARE"
"""
Locked, though nobody changes them: a commit that writes nothing does not wait for a standby, which
may not have what was committed before a crash.
"""
_MEANWHILE = "a delivery was stored by another transaction meanwhile"
"""It has committed since ours began: beginning anew finds it."""
_TAKE = f"{TAKE_KEYS} RETURNING key"
_STORE = storing(1)
_MOVE_KEYS = (
    "UPDATE keys SET delivery = n.delivery, until = n.until "
    f"FROM {unnested(KEY_TYPES, 1, 'n')} WHERE keys.key = n.key"
)


def load(group: Sequence[Acceptance]) -> float:
    """What part of a transaction a group fills."""
    return len(group) / DELIVERIES + sum([len(one.delivery.body) for one in group]) / BYTES


def keys(group: Sequence[Acceptance]) -> set[bytes]:
    """Everything that a group claims."""
    return {key for one in group for event in one.events for key in event.keys}


async def accept_all(
    db: Database, group: Sequence[Acceptance], now: int
) -> Sequence[Receipt | RouterError]:
    """
    Store a group; what became of each, in order. One with a value that the database refuses fails
    alone. What has an unknown outcome is done again: what is there already is its own.

    Raises:
        StoreUnavailable: no outcome came within `AGAIN_S` of the first try.
    """
    try:
        return await _again(db.clock, lambda: _with_days(db, group, now))
    except TO_BLAME as error:
        if len(group) == 1:
            return [unstorable(error)]
    middle = len(group) // 2
    first = await accept_all(db, group[:middle], now)
    return [*first, *await accept_all(db, group[middle:], now)]


async def _again(clock: Clock, accept: Callable[[], Awaitable[T]]) -> T:
    """Until its outcome is known, or the sender has had his answer."""
    until = clock.monotonic() + AGAIN_S
    while True:
        try:
            return await accept()
        except StoreUnavailable as error:
            if isinstance(error, Unstorable) or clock.monotonic() + PAUSE_S >= until:
                raise
        await clock.sleep(PAUSE_S)


async def _with_days(db: Database, group: Sequence[Acceptance], now: int) -> list[Receipt]:
    try:
        return await _accept(db, group, now)
    except Unstorable as error:
        if not isinstance(error.__cause__, asyncpg.CheckViolationError):
            raise
        await _add_days(db, group)
        return await _accept(db, group, now)


async def _add_days(db: Database, group: Iterable[Acceptance]) -> None:
    """The ids of some lie in days that nobody has prepared."""
    ids = [id_ for one in group for id_ in (one.delivery.id, *[job.id for job in one.jobs])]
    days = {partitions.day_of(id_) for id_ in ids}
    await db.transact(lambda tx: partitions.add(tx, *days), db.write)


async def _accept(db: Database, group: Sequence[Acceptance], now: int) -> list[Receipt]:
    if not all(map(is_usual, group)):
        work = partial(accept_within, group=group, now=now)
        return await db.transact(work, db.write, writes=len(group))
    receipts = await accept_at_once(db, group, now)
    left = [place for place, receipt in enumerate(receipts) if receipt is None]
    if left:
        work = partial(accept_within, group=[group[place] for place in left], now=now)
        for place, receipt in zip(left, await db.transact(work, db.write), strict=True):
            receipts[place] = receipt
    return [receipt for receipt in receipts if receipt is not None]


# -- within a transaction ------------------------------------------------------------------------


async def accept_within(tx: Tx, group: Sequence[Acceptance], now: int) -> list[Receipt]:
    """
    Store any deliveries within an open transaction; what became of each, in order. Locks their
    keys first.
    """
    receipts: dict[str, Receipt] = await _accepted_before(tx, group)
    new = {one.delivery.id: one for one in reversed(group) if one.delivery.id not in receipts}
    first = list(reversed(new.values()))
    receipts |= await _claim(tx, first, now)
    await _store(tx, first, receipts, now)
    return [receipts[one.delivery.id] for one in group]


async def _accepted_before(tx: Tx, group: Iterable[Acceptance]) -> dict[str, Receipt]:
    """Receipts of deliveries that are there already."""
    events = {one.delivery.id: one.events for one in group}
    found = await tx.all(_KNOWN, list(events))
    receipts: dict[str, Receipt] = {}
    for digits, blob in found:
        id_ = f"dlv_{digits}"
        new = frozenset([event.index for event in decode_events(blob)])
        receipts[id_] = Accepted(id_, None if len(new) == len(events[id_]) else new)
    return receipts


async def _claim(tx: Tx, new: Sequence[Acceptance], now: int) -> dict[str, Receipt]:
    """Claim every key; where one has an owner already, or comes twice, judge one by one."""
    claims, total = claimed(new)
    taken: set[bytes] = set()
    if claims:
        rows = await tx.all(_TAKE, *key_columns(claims.values()), now)
        taken = {key for (key,) in rows}
    if len(taken) == total:
        return {one.delivery.id: Accepted(one.delivery.id) for one in new}
    known = await _owners(tx, claims.keys() - taken)
    if not {one.delivery.id for one in new}.isdisjoint(known.values()):
        raise Crossed(_MEANWHILE)
    kept: dict[bytes, Claim] = {}
    receipts = {one.delivery.id: judge(one, known, kept) for one in new}
    await tx.run("DELETE FROM keys WHERE key = ANY ($1)", list(taken - kept.keys()))
    moved = [claim for key, claim in kept.items() if claim != claims[key]]
    await tx.run(_MOVE_KEYS, *key_columns(moved))
    return receipts


async def _owners(tx: Tx, keys: Collection[bytes]) -> dict[bytes, str]:
    found = await tx.all("SELECT key, delivery FROM keys WHERE key = ANY ($1)", list(keys))
    return {key: f"dlv_{delivery}" for key, delivery in found}


async def _store(tx: Tx, new: Iterable[Acceptance], receipts: dict[str, Receipt], now: int) -> None:
    """The rows of those that are not known; their receipts say what their runs have cancelled."""
    numbers = {id_: await tx.generation(id_) for id_ in sorted(generations(new))}
    rows = NewRows(numbers, tx.db.wall(now))
    for one in new:
        if isinstance(receipt := receipts[one.delivery.id], Accepted):
            rows.add(one, *new_parts(one, receipt.new))
    await tx.rule_generations(rows.rules)
    stored = await tx.all(_STORE, *columns(rows.deliveries, len(DELIVERY_TYPES)))
    if len(stored) < len(rows.deliveries):
        raise Crossed(_MEANWHILE)
    await insert(tx, rows.jobs)
    if rows.runs:
        await _add_runs(tx, rows, receipts, now)
    if rows.due:
        await tell(tx, rows.due)


async def _add_runs(tx: Tx, rows: NewRows, receipts: dict[str, Receipt], now: int) -> None:
    """The runs in order, each with a turn or none."""
    new = [run for runs_of in rows.runs.values() for run in runs_of]
    async with runs.changing(tx, now, new=new) as changes:
        for id_, runs_of in rows.runs.items():
            for run in runs_of:
                await changes.add(run)
            freed, cancelled = changes.outcome()
            rows.due.update([target for target, _ in freed])
            if cancelled:
                receipts[id_] = msgspec.structs.replace(receipts[id_], cancelled=cancelled)
