"""The operator's verbs and the small writes: add, cancel, revive, generations, copies, pulse."""

from collections.abc import Sequence

import msgspec

from router.errors import NotFound
from router.model.job import NewJob
from router.store import selection
from router.store.accepting import insert_jobs, job_rows
from router.store.book import Book
from router.store.protocol import Generation, Selector
from router.store.rows import PLACES, encode_json

STEP = 2_000
"""Jobs that one transaction of a verb changes, so that accepting need not wait for a million."""


def add(book: Book, delivery: str, jobs: Sequence[NewJob], now: int) -> int:
    """Make new jobs for a stored delivery. Raises NotFound."""
    row = book.db.execute(
        "SELECT n, generation FROM deliveries WHERE id = ?", (delivery,)
    ).fetchone()
    if row is None:
        raise NotFound(f"no delivery {delivery}")
    number, own = row
    last = book.one(
        f"SELECT max(j.n) FROM jobs j, (SELECT ? AS n) d WHERE {selection.JOBS_OF}", [number]
    )
    place = 0 if last is None else last % PLACES + 1
    for start, job in enumerate(jobs, place):
        generation = own if job.generation is None else book.generation(job.generation)
        book.named(generation, number, number)
        rows, begun = job_rows([job], number, start, generation, now)
        insert_jobs(book, rows)
        book.ruled({(job.rule, generation)})
        book.later.append(lambda begun=begun: book.running.update(begun))  # type: ignore[misc]
    book.pages += 2 * len(jobs)
    return len(jobs)


Step = tuple[int, int | None]
"""How many jobs a step changed, and the number after which the next one goes on, if any."""


def cancel(book: Book, selector: Selector, reason: str, now: int, after: int) -> Step:
    """Cancel jobs that are available, waiting or retryable: one step."""
    change = ("state = 6, ended_at = ?, reason = ?", [now, reason])
    return _change(book, selector, "j.state < 3", change, after)


def revive(book: Book, selector: Selector, now: int, after: int) -> Step:
    """Make dead jobs available again: one step."""
    change = (
        "state = 0, due_at = ?, charged = 0, deaths = 0, ended_at = NULL, reason = NULL",
        [now],
    )
    return _change(book, selector, "j.state > 1 AND j.state < 5 AND j.state = 4", change, after)


def _change(
    book: Book, selector: Selector, which: str, change: selection.Condition, after: int
) -> Step:
    """Everything at once if it is named or counted, else by steps that hold up nobody long."""
    sql, asked = selection.jobs(selector)
    whole = selector.limit is not None or bool(selector.ids)
    if whole:
        order, limit = "j.id DESC", -1 if selector.limit is None else selector.limit
    else:
        order, limit = "j.n", STEP
        sql, asked = f"j.n > ? AND {sql}", [after, *asked]
    numbers = [
        n
        for (n,) in book.db.execute(
            f"SELECT j.n FROM {selection.JOBS_JOINED} WHERE {which} AND {sql} "
            f"ORDER BY {order} LIMIT ?",
            [*asked, limit],
        )
    ]
    book.db.execute(
        f"UPDATE jobs SET {change[0]} WHERE n IN (SELECT value FROM json_each(?))",
        [*change[1], msgspec.json.encode(numbers).decode()],
    )
    book.pages += len(numbers)
    return len(numbers), numbers[-1] if not whole and len(numbers) == STEP else None


def hold(book: Book, paused: str) -> int:
    """Some jobs of paused rules (a JSON list) made to wait, some of others released: one step."""
    held = book.db.execute(
        "UPDATE jobs SET state = 2 WHERE n IN (SELECT n FROM jobs WHERE state < 2 "
        "AND rule IN (SELECT value FROM json_each(?)) LIMIT ?)",
        (paused, STEP),
    ).rowcount
    released = book.db.execute(
        "UPDATE jobs SET state = attempt > 0 WHERE n IN (SELECT n FROM jobs "
        "WHERE state > 1 AND state < 5 AND state = 2 "
        "AND rule NOT IN (SELECT value FROM json_each(?)) LIMIT ?)",
        (paused, STEP),
    ).rowcount
    book.pages += held + released
    return held + released


def keep_generation(book: Book, generation: Generation) -> None:
    """Keep a ruleset's text."""
    number = book.generation(generation.id)
    book.db.execute(
        "UPDATE generations SET text = ?, context = ?, created_at = ? WHERE n = ? AND text IS NULL",
        (generation.text, encode_json(generation.context), generation.created_at, number),
    )
    book.later.append(lambda: book.live.add(number))
    book.pages += 2


def write_copies(book: Book) -> None:
    """Write the counts of copies that only memory holds."""
    counted, book.copies = book.copies, {}
    book.db.executemany(
        "INSERT INTO copies SELECT n, ?, ? FROM deliveries WHERE id = ? "
        "ON CONFLICT (delivery) DO UPDATE SET count = count + excluded.count, "
        "last_seen_at = max(last_seen_at, excluded.last_seen_at)",
        [(count, seen, id_) for id_, (count, seen) in counted.items()],
    )
    book.pages += 1 + len(counted)
    book.undo.append(lambda: _count_again(book, counted))


def _count_again(book: Book, counted: dict[str, tuple[int, int]]) -> None:
    for id_, (count, seen) in counted.items():
        more, last = book.copies.get(id_, (0, seen))
        book.copies[id_] = (count + more, max(last, seen))


def beat(book: Book) -> None:
    """Write something, to prove that it can be written."""
    book.db.execute("UPDATE pulse SET beat = beat + 1")
    book.pages += 1
