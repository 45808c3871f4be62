"""Writing attempts' ends: only the holder of the current lease changes anything."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from router.model.job import ENDED, Settlement
from router.store.sqlite import accepting
from router.store.sqlite.accepting import Anomaly
from router.store.sqlite.fragments import OUTCOME, PLACE_BITS, RUNNING, STATE
from router.store.sqlite.rows import encode_json
from router.store.sqlite.runs import RunChanges
from router.store.sqlite.writer_state import ROWS, Book, Row, marks
from router.store.values import ALREADY, HELD, LOST, Acceptance, Accepted, Settled

Ending = tuple[tuple[Settlement, Acceptance | None], int]
"""A settlement, the router's own delivery about it, and the ledger time at which it was given."""


def settle_all(book: Book, batch: Sequence[Ending]) -> list[Settled]:
    """
    Settle a batch set by set within the open transaction; one by one where others depend on it.

    Raises:
        Anomaly: a lease of several settlements no longer holds; one alone is answered so.
    """
    updates: list[Row] = []
    attempts: list[Row] = []
    linked: list[tuple[int, int]] = []
    lost = 0
    for index, ((settlement, _), _) in enumerate(batch):
        number, run = _place(book, settlement.job)
        if number is None:
            lost += 1
        elif run is not None:
            linked.append((index, run))
        else:
            updates.append(_update_row(number, settlement))
            attempts.append(_attempt_row(book, number, settlement))
    held = sum(_update(book, updates[i : i + ROWS]) for i in range(0, len(updates), ROWS))
    if lost or held != len(updates):
        return _not_held(book, batch)
    book.insert("attempts", attempts, "ON CONFLICT DO NOTHING")
    answers = [HELD] * len(batch)
    for index, run in linked:
        if (followed := _settle_linked(book, batch[index], run)) is None:
            return _not_held(book, batch)
        answers[index] = followed
    reports = {i: (own, now) for i, ((_, own), now) in enumerate(batch) if own is not None}
    if reports:
        _report(book, reports, answers)
    book.pages += 1 + len(batch)
    book.later.append(lambda: _forget(book, batch))
    return answers


def _report(book: Book, reports: Mapping[int, accepting.Timed], answers: list[Settled]) -> None:
    """Accept the own events about these ends: every lease held, so all of them are true."""
    receipts = accepting.accept_all(book, list(reports.values()))
    for index, receipt in zip(reports, receipts, strict=True):
        if isinstance(receipt, Accepted) and receipt.cancelled:
            cancelled = tuple(sorted((*answers[index].cancelled, *receipt.cancelled)))
            answers[index] = Settled(freed=answers[index].freed, cancelled=cancelled)


def _not_held(book: Book, batch: Sequence[Ending]) -> list[Settled]:
    """Somebody else holds the job, or nobody: its own settlement may have been written before."""
    if len(batch) > 1:
        raise Anomaly
    attempt = batch[0][0][0].attempt
    written = book.one(
        "SELECT 1 FROM attempts a JOIN jobs j ON j.n = a.job WHERE j.id = ? AND a.number = ? "
        "AND a.outcome = ? AND a.reason IS ?",
        (attempt.job, attempt.number, OUTCOME[attempt.outcome], attempt.reason),
    )
    return [ALREADY if written else LOST]


def _settle_linked(book: Book, ending: Ending, run: int) -> Settled | None:
    """Settle a job of a run, then see to the others of the run and to its group."""
    (settlement, _), now = ending
    number, _ = _place(book, settlement.job)
    if number is None or not _update(book, [_update_row(number, settlement)]):
        return None
    attempt = _attempt_row(book, number, settlement)
    book.insert("attempts", [attempt], "ON CONFLICT DO NOTHING")
    changes = RunChanges(book, now)
    changes.follow(run)
    if not changes.freed and not changes.cancelled:
        return HELD
    return Settled(freed=tuple(sorted(changes.freed)), cancelled=tuple(sorted(changes.cancelled)))


def _forget(book: Book, batch: Sequence[Ending]) -> None:
    for (settlement, _), _ in batch:
        number = book.running.pop(settlement.job, None)
        if book.linked and number is not None:
            book.linked.pop(number, None)


def _place(book: Book, job: str) -> tuple[int | None, int | None]:
    """A job's number, and its run if it has one."""
    if (known := book.running.get(job)) is not None:
        return known, book.linked.get(known)
    found = book.db.execute("SELECT n, run FROM jobs WHERE id = ?", (job,)).fetchone()
    return (None, None) if found is None else (found[0], found[1])


def _update(book: Book, rows: Sequence[Row]) -> int:
    return book.db.execute(_ending(len(rows)), [v for row in rows for v in row]).rowcount


@lru_cache(maxsize=ROWS)
def _ending(rows: int) -> str:
    return (
        "UPDATE jobs SET state = v.column3, due_at = coalesce(v.column4, due_at), "
        "ended_at = v.column5, reason = v.column6, charged = charged + v.column7, "
        "deaths = CASE WHEN v.column7 THEN 0 ELSE deaths END, lease = NULL "
        f"FROM ({marks(rows, 7)}) AS v "
        f"WHERE jobs.n = v.column1 AND jobs.lease = v.column2 AND jobs.state = {RUNNING}"
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


def _attempt_row(book: Book, number: int, settlement: Settlement) -> Row:
    attempt = settlement.attempt
    generation = book.generation(attempt.generation)
    delivery = number >> PLACE_BITS
    book.named(generation, delivery, delivery)
    return (
        number,
        attempt.number,
        attempt.started_at,
        attempt.ended_at,
        OUTCOME[attempt.outcome],
        attempt.reason,
        encode_json(attempt.result),
        generation,
    )
