"""Rows of a database, put there by hand."""

from collections.abc import Mapping

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


async def add_job(tx: Tx, delivery: str, id_: str, **given: object) -> None:
    """Its own row, which says how it ended if that is given."""
    values = {
        "id": id_,
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
    await _insert(tx, "jobs", values)


async def add_open_job(tx: Tx, delivery: str, id_: str, **given: object) -> None:
    """A job and its row in the queue."""
    await add_job(tx, delivery, id_)
    values = {
        "job": id_,
        "delivery": delivery,
        "target": "erp",
        "rule": "paid",
        "state": AVAILABLE,
        "replayed": False,
        "due_at": START_MS,
        **given,
    }
    await _insert(tx, "queue", values)


async def _insert(tx: Tx, table: str, values: Mapping[str, object]) -> None:
    marks = ", ".join("?" for _ in values)
    sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - its own names
    await tx.run(sql, *values.values())
