"""Writing attempts' ends: only the holder of the current lease changes anything."""

from collections.abc import Sequence
from functools import lru_cache

from router.model.job import ENDED, Settlement
from router.store.book import ROWS, Book, Row, values
from router.store.rows import OUTCOME, STATE, encode_json


class Anomaly(Exception):
    """Something in this batch is out of the ordinary: do its items one by one."""


Ending = tuple[Settlement, bytes]
"""A settlement and its attempt's result, encoded."""


def prepare(settlement: Settlement) -> Ending:
    """Encode what can be encoded without the store."""
    return settlement, encode_json(settlement.attempt.result)


def settle_all(book: Book, batch: Sequence[Ending]) -> list[bool]:
    """
    Settle a batch set by set within the open transaction.

    Raises:
        Anomaly: a lease of several settlements no longer holds; one alone is answered False.
    """
    updates: list[Row] = []
    attempts: list[Row] = []
    for settlement, result in batch:
        number = _number(book, settlement.job)
        if number is not None:
            updates.append(_update_row(number, settlement))
            attempts.append(_attempt_row(book, number, settlement, result))
    held = sum(_update(book, updates[i : i + ROWS]) for i in range(0, len(updates), ROWS))
    if held != len(batch):
        if len(batch) > 1:
            raise Anomaly
        return [False]
    book.insert("attempts", attempts, "ON CONFLICT DO NOTHING")
    book.pages += 1 + len(batch)
    book.later.append(lambda: _forget(book, batch))
    return [True] * len(batch)


def _forget(book: Book, batch: Sequence[Ending]) -> None:
    for settlement, _ in batch:
        book.running.pop(settlement.job, None)


def _number(book: Book, job: str) -> int | None:
    known = book.running.get(job)
    if known is not None:
        return known
    found = book.one("SELECT n FROM jobs WHERE id = ?", (job,))
    return None if found is None else int(found)


def _update(book: Book, rows: Sequence[Row]) -> int:
    return book.db.execute(_ending(len(rows)), [v for row in rows for v in row]).rowcount


@lru_cache(maxsize=ROWS)
def _ending(rows: int) -> str:
    return (
        "UPDATE jobs SET state = v.column3, due_at = coalesce(v.column4, due_at), "
        "ended_at = v.column5, reason = v.column6, charged = charged + v.column7, "
        "deaths = CASE WHEN v.column7 THEN 0 ELSE deaths END, lease = NULL "
        f"FROM ({values(rows, 7)}) AS v "
        "WHERE jobs.n = v.column1 AND jobs.lease = v.column2 AND jobs.state = 3"
    )


def _update_row(number: int, settlement: Settlement) -> Row:
    state = settlement.state
    return (
        number,
        settlement.lease,
        STATE[state],
        settlement.due_at,
        settlement.attempt.ended_at if state in ENDED else None,
        settlement.reason,
        1 if settlement.charged else 0,
    )


def _attempt_row(book: Book, number: int, settlement: Settlement, result: bytes) -> Row:
    attempt = settlement.attempt
    generation = book.generation(attempt.generation)
    delivery = number >> 20
    book.named(generation, delivery, delivery)
    return (
        number,
        attempt.number,
        attempt.started_at,
        attempt.ended_at,
        OUTCOME[attempt.outcome],
        attempt.reason,
        result,
        generation,
    )
