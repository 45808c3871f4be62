"""The usual deliveries in one statement: an event with a key or none, and jobs by themselves."""

from collections.abc import Collection, Iterable, Sequence

from router.store.common.claims import Claim, Receipt
from router.store.common.states import AVAILABLE
from router.store.postgres.database import Database
from router.store.postgres.delivery_rows import (
    DELIVERY_TYPES,
    KEY_TYPES,
    TAKE_KEYS,
    NewRows,
    generations,
    key_columns,
    storing,
)
from router.store.postgres.job_rows import JOB_TYPES, columns, inserting
from router.store.postgres.notices import CHANNEL, notice
from router.store.values import Acceptance, Accepted, Duplicate

_UNKEYED = len(KEY_TYPES) + 2
_DELIVERIES = _UNKEYED + 1
_JOBS = _DELIVERIES + len(DELIVERY_TYPES)
_NOTICE = _JOBS + len(JOB_TYPES)

_ACCEPT = (
    f"WITH taken AS ({TAKE_KEYS} RETURNING delivery), stored AS ("
    + storing(_DELIVERIES, f"WHERE id = ANY (${_UNKEYED}) OR id IN (SELECT delivery FROM taken)")
    + "), "
    + inserting(_JOBS, "WHERE delivery IN (SELECT id FROM stored)")
    + " SELECT (SELECT count(*) FROM stored), CASE WHEN EXISTS "
    f"(SELECT FROM queued WHERE state = {AVAILABLE}) "
    f"THEN pg_notify('{CHANNEL}', ${_NOTICE})::text END"
)
_LOOK = (
    "SELECT key, delivery, until FROM keys WHERE key = ANY ($1) "
    "UNION ALL SELECT NULL, id, 0 "
    "FROM (SELECT id FROM deliveries WHERE id = ANY ($2) FOR KEY SHARE) stored"
)


def is_usual(one: Acceptance) -> bool:
    """Whether this way is open to it."""
    if len(one.events) > 1 or (one.events and len(one.events[0].keys) > 1):
        return False
    for job in one.jobs:  # noqa: SIM110 - thrice as quick as a generator; asked of every delivery
        if job.run is not None:
            return False
    return True


def _key(one: Acceptance) -> bytes | None:
    return one.events[0].keys[0] if one.events and one.events[0].keys else None


async def accept_at_once(
    db: Database, group: Sequence[Acceptance], now: int
) -> list[Receipt | None]:
    """
    Store those that are new; what became of each. None: whoever had its key has just lost it, so
    it has to be tried again.

    All of it may be done again when its outcome is unknown: what is there already is its own.
    """
    await db.number(generations(group))
    claims, unkeyed, new = _first(group)
    rows = NewRows(db.numbers, db.wall(now))
    for one in new:
        rows.add(one, one.events, one.jobs)
    if rows.rules - db.ruled:
        await db.transact(lambda tx: tx.rule_generations(rows.rules), db.write)
    values = [
        *key_columns(claims),
        now,
        unkeyed,
        *columns(rows.deliveries, len(DELIVERY_TYPES)),
        *columns(rows.jobs, len(JOB_TYPES)),
        notice(rows.due),
    ]
    if await db.state(len(group), lambda tx: tx.one(_ACCEPT, *values), db.write) == len(group):
        running = [(job.id, one) for one in new for job in one.jobs if job.state == "running"]
        db.running.update([(job, one.delivery.id) for job, one in running])
        return [Accepted(one.delivery.id) for one in group]
    return await _look(db, group, now)


def _first(
    group: Iterable[Acceptance],
) -> tuple[Collection[Claim], Sequence[str], Collection[Acceptance]]:
    """
    Of copies within the group only the first is stored: what all of these claim, the ids of those
    without a key, and they themselves.
    """
    claims: dict[bytes, Claim] = {}
    unkeyed: list[str] = []
    new: dict[str, Acceptance] = {}
    for one in group:
        id_, key = one.delivery.id, _key(one)
        if id_ in new or key in claims:
            continue
        new[id_] = one
        if key is None:
            unkeyed.append(id_)
        else:
            claims[key] = (key, id_, one.keys_until)
    return claims.values(), unkeyed, new.values()


async def _look(db: Database, group: Sequence[Acceptance], now: int) -> list[Receipt | None]:
    """Not all of them were new: see who has the keys, and which deliveries are there."""
    keys = [_key(one) for one in group]
    ids = [one.delivery.id for one, key in zip(group, keys, strict=True) if key is None]
    known = [key for key in keys if key is not None]
    found = await db.write.run(lambda c: c.fetch(_LOOK, known, ids))
    there = {f"dlv_{id_}" for _, id_, _ in found}
    owners: dict[bytes | None, str] = {
        key: f"dlv_{owner}" for key, owner, until in found if key is not None and until > now
    }
    receipts: list[Receipt | None] = []
    for one, key in zip(group, keys, strict=True):
        if one.delivery.id in there:
            receipts.append(Accepted(one.delivery.id))
        else:
            owner = owners.get(key)
            receipts.append(None if owner is None else Duplicate(owner))
    return receipts
