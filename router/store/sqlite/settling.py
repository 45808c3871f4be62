"""Writing attempts' ends: only the holder of the current lease changes anything."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from router.model.job import ENDED, Settlement
from router.store.common.columns import encode_json
from router.store.common.states import OUTCOME, RUNNING, STATE
from router.store.sqlite import accepting, runs
from router.store.sqlite.accepting import Anomaly
from router.store.sqlite.fragments import PLACE_BITS
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
    alone: list[tuple[int, Settlement]] = []
    linked: list[tuple[int, int]] = []
    for index, ((settlement, _), _) in enumerate(batch):
        number, run = _place(book, settlement.job)
        if number is None:
            return _not_held(book, batch)
        if run is not None:
            linked.append((index, run))
        else:
            alone.append((number, settlement))
    if not _write(book, alone):
        return _not_held(book, batch)
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
    if number is None or not _write(book, [(number, settlement)]):
        return None
    changes = runs.changes(book, now)
    runs.at_once(changes.follow(run))
    if not changes.freed and not changes.cancelled:
        return HELD
    return Settled("held", *changes.outcome())


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


def _write(book: Book, ends: Sequence[tuple[int, Settlement]]) -> bool:
    """
    Write the ends of these jobs, by number, and their attempts; False: a lease no longer holds.

    One loop for both rows of each: most of what the writer does is this and the accepting.
    """
    updates: list[Row] = []
    attempts: list[Row] = []
    named: dict[str, list[int]] = {}
    for number, settlement in ends:
        attempt, state = settlement.attempt, settlement.state
        ended = attempt.ended_at if state in ENDED else None
        charged = 1 if settlement.charged else 0
        lease, due, reason = settlement.lease, settlement.due_at, settlement.reason
        updates.append((number, lease, STATE[state], due, ended, reason, charged))
        named.setdefault(attempt.generation, []).append(number >> PLACE_BITS)
        attempts.append(
            (
                number,
                attempt.number,
                attempt.started_at,
                attempt.ended_at,
                OUTCOME[attempt.outcome],
                attempt.reason,
                encode_json(attempt.result),
                book.generation(attempt.generation),
            )
        )
    held = sum([_update(book, updates[i : i + ROWS]) for i in range(0, len(updates), ROWS)])
    if held != len(updates):
        return False
    for generation, deliveries in named.items():
        book.named(book.generation(generation), min(deliveries), max(deliveries))
    book.insert("attempts", attempts, "ON CONFLICT DO NOTHING")
    return True


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
