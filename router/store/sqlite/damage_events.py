"""What comes of jobs that were found unreadable: their runs go on, and the router tells of them."""

from typing import Any

from router.kinds import NUMBERED
from router.model.job import Attempt, Job
from router.store.sqlite import accepting, damage, runs
from router.store.sqlite.rows import PLACE_BITS
from router.store.sqlite.writer_state import Book

_TEXTS = "j.id, d.id, d.endpoint, j.event_id, j.event, j.rule, j.action, j.target, g.id"
_SEEN = (
    f"SELECT {', '.join([f'CAST({name} AS BLOB)' for name in _TEXTS.split(', ')])}, "
    "j.kind, j.event_index, j.created_at, j.attempt, j.due_at, j.started_at, j.run FROM jobs j "
    f"LEFT JOIN deliveries d ON d.n = j.n >> {PLACE_BITS} "
    "LEFT JOIN generations g ON g.n = j.generation WHERE j.n = ?"
)


def see_to(book: Book) -> None:
    """What each means for others is done, and it is told of, in the transaction that found it."""
    while book.open:
        found = list(book.open)
        book.open.clear()
        told = [own for number, now in found if (own := _followed(book, number, now)) is not None]
        if told:
            accepting.accept_all(book, told)


def _followed(book: Book, number: int, now: int) -> accepting.Prepared | None:
    *row, run = book.db.execute(_SEEN, (number,)).fetchone()
    if isinstance(run, int):
        runs.follow(book, run, now, runs.Effects())
    ended = book.wall(now)
    job = _seen(row, ended)
    own = book.died(job, _end(job, ended))
    return None if own is None else accepting.prepare(own, now)


def _seen(row: list[Any], now: int) -> Job:
    """As much of a job as can be read; nothing stands for what is lost with its delivery."""
    texts = [damage.legible(raw) for raw in row[:9]]
    id_, delivery, endpoint, event_id, event, rule, action, target, generation = texts
    kind, index, created_at, attempt, due_at, started_at = row[9:]
    return Job(
        id_,
        delivery,
        endpoint,
        index,
        event_id,
        event,
        rule,
        action,
        NUMBERED[kind],
        target,
        "dead",
        due_at,
        min(max(created_at, 0), now),  # a date beyond the calendar cannot be told
        generation,
        attempt,
        started_at=started_at,
        ended_at=now,
        reason=damage.CORRUPT,
    )


def _end(job: Job, now: int) -> Attempt:
    """How such a job ended, for whoever is told: no attempt was made of it."""
    return Attempt(job.id, job.attempt, now, now, "dead", damage.CORRUPT, {}, job.generation)
