"""Rows of a database, put there by hand."""

from collections.abc import Mapping, Sequence

from router.kinds import KINDS
from router.store.common.states import AVAILABLE
from router.store.postgres.database import Tx
from tests.clocks import START_MS
from tests.store_values import GENERATION


async def add_delivery(tx: Tx, id_: str) -> None:
    """One without a content."""
    await tx.run(
        "INSERT INTO deliveries (id, endpoint, state, received_at, generation, names, events, meta,"
        " body) VALUES ($1, 'shop', 0, $2, $3, '', '', '', '')",
        id_,
        START_MS,
        await tx.generation(GENERATION),
    )


async def add_job(tx: Tx, delivery: str, *ids: str, **given: object) -> None:
    """The own row of each, which says how it ended if that is given."""
    values = {
        "delivery": delivery,
        "target": "erp",
        "rule": "paid",
        "action": "erp",
        "kind": KINDS["http"].number,
        "event_index": 0,
        "event_id": "evt_" + "0" * 26,
        "event": "orders/paid",
        "created_at": START_MS,
        "generation": await tx.generation(GENERATION),
        **given,
    }
    await _insert(tx, "jobs", "id", ids, values)


async def add_open_job(tx: Tx, delivery: str, *ids: str, **given: object) -> None:
    """Jobs and their rows in the queue."""
    await add_job(tx, delivery, *ids)
    values = {
        "delivery": delivery,
        "target": "erp",
        "rule": "paid",
        "state": AVAILABLE,
        "replayed": False,
        "due_at": START_MS,
        **given,
    }
    await _insert(tx, "queue", "job", ids, values)


async def add_ended(tx: Tx, ids: Sequence[str]) -> None:
    """Deliveries without a content, each with a job of the same digits that has succeeded."""
    for sql in _ENDED:
        await tx.run(sql, ids, START_MS, await tx.generation(GENERATION))


_ENDED = (
    """
    INSERT INTO deliveries (id, endpoint, state, received_at, generation, names, events, meta, body)
    SELECT id, 'shop', 0, $2, $3, '', '', '', 'body' FROM unnest($1::uuid[]) id
    """,
    """
    INSERT INTO jobs (id, delivery, target, rule, action, kind, event_index, event_id, event,
        created_at, generation, state, due_at, attempt, ended_at)
    SELECT id, id, 'erp', 'paid', 'erp', 1, 0, id, 'e', $2, $3, 5, $2, 1, $2
    FROM unnest($1::uuid[]) id
    """,
    """
    INSERT INTO attempts (job, number, started_at, ended_at, outcome, result, generation)
    SELECT id, 1, $2, $2, 0, '', $3 FROM unnest($1::uuid[]) id
    """,
)


async def _insert(
    tx: Tx, table: str, id_column: str, ids: Sequence[str], values: Mapping[str, object]
) -> None:
    columns = ", ".join([id_column, *values])
    marks = ", ".join(f"${n}" for n in range(1, len(values) + 2))
    sql = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - its own names
    await tx.each(sql, [(id_, *values.values()) for id_ in ids])
