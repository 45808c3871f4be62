"""Whole deliveries read in pages, for whoever must look into them: bounded in rows and bytes."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from router.model.job import Job
from router.store.common.columns import decode_events
from router.store.common.lists import BYTES, ROWS
from router.store.common.selection import Condition
from router.store.postgres import selection
from router.store.postgres.database import Tx
from router.store.postgres.fragments import DELIVERY_COLUMNS, JOBS_JOINED, first_of
from router.store.postgres.reading import jobs_where
from router.store.postgres.rows import to_delivery
from router.store.values import Page, Selector, Stored


class _Item(NamedTuple):
    """
    A delivery to be read with some of its jobs: the page after it goes on after `at`. `size`: of
    its body.
    """

    at: str
    delivery: str
    size: int
    jobs: frozenset[str] = frozenset()


async def page(
    tx: Tx,
    selector: Selector,
    *,
    jobs: bool,
    newest: bool = False,
    after: str | None = None,
    whole: bool = False,
) -> Page:
    """Some of the selected deliveries or jobs, in order."""
    selected = await selection.of(tx, selector)
    if not jobs:
        items, more = await _deliveries(tx, selected.deliveries(), newest, after)
    elif newest:
        items, more = await _newest_jobs(tx, selected.jobs(whole=whole), after)
    else:
        items, more = await _jobs_by_delivery(tx, selected.jobs(whole=whole), after)
    fitting = _fitting(items)
    more = more or len(fitting) < len(items)
    return Page(await _load(tx, fitting, whole=whole), fitting[-1].at if more else None)


def _fitting(items: Sequence[_Item]) -> Sequence[_Item]:
    """Those whose bodies make a page."""
    room = BYTES
    for n, item in enumerate(items):
        if room <= 0:
            return items[:n]
        room -= item.size + 4096
    return items


def _after(column: str, after: str | None, condition: Condition, *, newest: bool) -> Condition:
    sql, asked = condition
    if after is None:
        return condition
    return f"{column} {'<' if newest else '>'} ? AND {sql}", [selection.place(after), *asked]


async def _deliveries(
    tx: Tx, condition: Condition, newest: bool, after: str | None
) -> tuple[list[_Item], bool]:
    sql, asked = _after("d.id", after, condition, newest=newest)
    order = "DESC" if newest else "ASC"
    rows = await tx.all(
        f"SELECT d.id, octet_length(d.body) FROM {first_of(sql, order)} ORDER BY d.id {order}",
        *asked,
        ROWS,
    )
    return [_Item(f"dlv_{id_}", f"dlv_{id_}", size) for id_, size in rows], len(rows) == ROWS


async def _newest_jobs(tx: Tx, condition: Condition, after: str | None) -> tuple[list[_Item], bool]:
    """Each by itself."""
    rows = await _jobs(tx, _after("j.id", after, condition, newest=True), "j.id DESC", ROWS)
    items = [_Item(job, delivery, size, frozenset([job])) for job, delivery, size in rows]
    return items, len(rows) == ROWS


async def _jobs_by_delivery(
    tx: Tx, condition: Condition, after: str | None
) -> tuple[list[_Item], bool]:
    """The jobs of a delivery together."""
    order = "j.delivery, j.id"
    rest = condition
    for column in ("j.delivery", "d.id"):  # the same one, but the database does not conclude it
        rest = _after(column, after, rest, newest=False)
    rows = await _jobs(tx, rest, order, ROWS)
    more = len(rows) == ROWS
    if more:  # the last delivery may have more
        last, (sql, asked) = rows[-1][1], condition
        rows = [row for row in rows if row[1] != last]
        rows += await _jobs(tx, (f"j.delivery = ? AND {sql}", [last, *asked]), order, None)
    return [
        _Item(delivery, delivery, of[0][2], frozenset(row[0] for row in of))
        for delivery, group in groupby(rows, lambda row: row[1])
        for of in [list(group)]
    ], more


async def _jobs(
    tx: Tx, condition: Condition, order: str, limit: int | None
) -> list[tuple[str, str, int]]:
    """Ids of jobs and of their deliveries, and the size of each delivery's body."""
    sql, asked = condition
    rows = await tx.all(
        f"SELECT j.id, j.delivery, octet_length(d.body) FROM {JOBS_JOINED} WHERE {sql} "
        f"ORDER BY {order} LIMIT ?",
        *asked,
        limit,
    )
    return [(f"job_{job}", f"dlv_{delivery}", size) for job, delivery, size in rows]


async def _load(tx: Tx, items: Sequence[_Item], *, whole: bool) -> tuple[Stored, ...]:
    deliveries = [item.delivery for item in items]
    rows = await tx.all(
        f"SELECT {DELIVERY_COLUMNS}, d.events FROM deliveries d "
        "JOIN generations g ON g.n = d.generation WHERE d.id = ANY($1)",
        deliveries,
    )
    found = {f"dlv_{row[0]}": (to_delivery(row[:7]), decode_events(row[7])) for row in rows}
    jobs: dict[str, list[Job]] = {id_: [] for id_ in found}
    wanted = [job for item in items for job in item.jobs]
    if whole or wanted:
        which = "j.delivery = ANY(?) AND (? OR j.id = ANY(?)) ORDER BY j.id"
        for job in await jobs_where(tx, which, deliveries, whole, wanted):
            jobs[job.delivery].append(job)
    return tuple(
        [
            Stored(
                item.at,
                *found[item.delivery],
                tuple([job for job in jobs[item.delivery] if job.id in item.jobs]),
                tuple(jobs[item.delivery]) if whole else (),
            )
            for item in items
        ]
    )
