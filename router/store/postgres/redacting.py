"""Deliveries written anew without what was taken out of them."""

from router.store.common.columns import encode_entries, encode_json, encode_meta
from router.store.common.redactions import hidden_key
from router.store.postgres.database import Tx
from router.store.postgres.operations import remember
from router.store.postgres.runs import group_key
from router.store.postgres.texts import escape, unescape
from router.store.removal import RedactionStep, Rewritten

_KEYS = """
    WITH renamed AS (
        SELECT * FROM unnest($1::bytea[], $2::bytea[]) AS r (old, new)
    ), gone AS (
        DELETE FROM keys k USING renamed r WHERE k.key = r.old RETURNING r.new, k.delivery, k.until
    )
    INSERT INTO keys SELECT * FROM gone ON CONFLICT (key) DO NOTHING
"""
_GROUP_LEFT = """
    DELETE FROM groups g WHERE key = $1 AND NOT EXISTS (SELECT FROM runs r WHERE r.key = g.key)
"""


async def due(tx: Tx, now: int, limit: int) -> tuple[str, ...]:
    """Deliveries that are to be looked at again by now, the earliest first."""
    sql = "SELECT delivery FROM redactions WHERE due_at <= $1 ORDER BY due_at LIMIT $2"
    return tuple([f"dlv_{id_}" for (id_,) in await tx.all(sql, now, limit)])


async def redact(tx: Tx, step: RedactionStep, *, now: int) -> int:
    """Write what the step rewrites and can still be; how many."""
    later = dict(step.later)
    for one in step.rewritten:
        later[one.delivery.id] = None if await _rewrite(tx, one) else now
    done = [id_ for id_, at in later.items() if not at]
    await tx.run("DELETE FROM redactions WHERE delivery = ANY ($1)", done)
    await tx.each(
        "INSERT INTO redactions VALUES ($1, $2) "
        "ON CONFLICT (delivery) DO UPDATE SET due_at = excluded.due_at",
        [(id_, at) for id_, at in later.items() if at],
    )
    await remember(tx, step.facts)
    return sum(later[one.delivery.id] is None for one in step.rewritten)


async def _rewrite(tx: Tx, one: Rewritten) -> bool:
    """False: something of it is open again, or was tried since it was read."""
    delivery = one.delivery
    id_ = delivery.id
    there = await tx.one("SELECT 1 FROM deliveries WHERE id = $1 FOR UPDATE", id_)
    if there is None:
        return True  # it is gone
    # Who revives or adds a job locks nothing of the delivery: its jobs are locked here instead.
    jobs = await tx.all("SELECT id, state FROM jobs WHERE delivery = $1 FOR UPDATE", id_)
    ids = [f"job_{job}" for job, _ in jobs]
    tried = await tx.one("SELECT count(*) FROM attempts WHERE job = ANY ($1)", ids)
    if len(jobs) != one.jobs or tried != one.tried or any(state is None for _, state in jobs):
        return False
    await tx.run(
        "UPDATE deliveries SET events = $2, meta = $3, body = $4 WHERE id = $1",
        id_,
        encode_entries(one.events),
        encode_meta(delivery),
        delivery.body,
    )
    await tx.each(
        "UPDATE jobs SET reason = $3 WHERE delivery = $1 AND id = $2",
        [(id_, job, escape(why)) for job, why in one.reasons.items()],
    )
    await tx.each(
        "UPDATE attempts SET reason = $3, result = $4 WHERE job = $1 AND number = $2",
        [(a.job, a.number, escape(a.reason), encode_json(a.result)) for a in one.attempts],
    )
    await _hide_keys(tx, one)
    return True


async def _hide_keys(tx: Tx, one: Rewritten) -> None:
    """Dedupe keys and groups that would hold what was taken out are known by their digests."""
    if one.keys:
        await tx.run(_KEYS, list(one.keys), list(one.keys.values()))
    runs = await tx.all(
        "SELECT id, key, value FROM runs WHERE delivery = $1 AND key IS NOT NULL", one.delivery.id
    )
    for id_, raw, value in runs:
        key, shown = raw.decode("utf-8", "replace"), unescape(value)
        clean = one.clean(shown)
        if clean != shown or one.clean(key) != key:
            await tx.run(
                "UPDATE runs SET key = $2, value = $3 WHERE id = $1",
                f"job_{id_}",
                group_key(hidden_key(key)),
                escape(clean),
            )
            await tx.run(_GROUP_LEFT, raw)
