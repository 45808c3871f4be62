"""The operator's verbs and the small writes: cancel, revive, generations, copies, pulse."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from router.model.activity import ActivityCount
from router.model.operations import Audit, Change
from router.store.common import activity
from router.store.common.columns import encode_json
from router.store.common.selection import Condition
from router.store.common.states import AVAILABLE, CANCELLED
from router.store.sqlite import audit_log, replaying, runs
from router.store.sqlite.fragments import JOBS_JOINED, LISTED, listed
from router.store.sqlite.selection import SqliteSelection
from router.store.sqlite.writer_state import Book
from router.store.values import (
    Generation,
    RuleCount,
    Selector,
)

STEP = 2_000
"""Jobs that one transaction of a verb changes, so that accepting need not wait for a million."""


Step = tuple[int, int | None]
"""How many jobs a step changed, and the number after which the next one goes on, if any."""


def cancel(book: Book, selector: Selector, reason: str, now: int, after: int) -> Step:
    """Cancel jobs that are available, waiting or retryable: one step."""
    if selector.replay is not None and after < 0:
        replaying.stop(book, selector.replay, now)
    sets = f"state = {CANCELLED}, ended_at = ?, reason = ?, waits = NULL"
    follow = runs.changes(book, now).follow_jobs
    return _change(book, selector, "cancel", (sets, [book.wall(now), reason]), after, follow)


def revive(book: Book, selector: Selector, now: int, after: int) -> Step:
    """Make dead jobs available again, but those that nobody can read: one step."""
    sets = "due_at = ?, charged = 0, deaths = 0, ended_at = NULL, reason = NULL"
    reopen = runs.changes(book, now).reopen
    return _change(book, selector, "revive", (f"state = {AVAILABLE}, {sets}", [now]), after, reopen)


def _change(
    book: Book,
    selector: Selector,
    verb: Change,
    sets: Condition,
    after: int,
    see_to_runs: Callable[[str], Coroutine[Any, Any, None]],
) -> Step:
    """Everything at once if it is named or counted, else by steps that hold up nobody long."""
    sql, asked = SqliteSelection(selector).changed(verb)
    whole = selector.limit is not None or bool(selector.ids)
    if whole:
        order, limit = "j.id DESC", -1 if selector.limit is None else selector.limit
    else:
        order, limit = "j.n", STEP
        sql, asked = f"j.n > ? AND {sql}", [after, *asked]
    numbers = [
        n
        for (n,) in book.db.execute(
            f"SELECT j.n FROM {JOBS_JOINED} WHERE {sql} ORDER BY {order} LIMIT ?",
            [*asked, limit],
        )
    ]
    changed = listed(numbers)
    book.db.execute(f"UPDATE jobs SET {sets[0]} WHERE n {LISTED}", [*sets[1], changed])
    book.pages += len(numbers)
    runs.at_once(see_to_runs(changed))
    return len(numbers), numbers[-1] if not whole and len(numbers) == STEP else None


def keep_generation(book: Book, generation: Generation) -> None:
    """Keep a ruleset's text."""
    number = book.generation(generation.id)
    book.db.execute(
        "UPDATE generations SET text = ?, context = ?, created_at = ? WHERE n = ? AND text IS NULL",
        (generation.text, encode_json(generation.context), generation.created_at, number),
    )
    book.later.append(lambda: book.live.add(number))
    book.pages += 2


def remember(book: Book, facts: Mapping[str, Any], audit: Audit | None = None) -> None:
    """Keep small values by name; None forgets."""
    audit_log.note(book, audit, len(facts))
    for name, value in facts.items():
        if value is None:
            book.db.execute("DELETE FROM facts WHERE name = ?", (name,))
            continue
        book.db.execute(
            "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
            (name, msgspec.json.encode(value), book.clock.now()),
        )
    book.pages += len(facts)


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
    book.unsure.append(lambda: _count_once(book, counted))


def _count_again(book: Book, counted: dict[str, tuple[int, int]]) -> None:
    for id_, (count, seen) in counted.items():
        more, last = book.copies.get(id_, (0, seen))
        book.copies[id_] = (count + more, max(last, seen))


def _count_once(book: Book, counted: dict[str, tuple[int, int]]) -> None:
    """Nobody knew whether these were written: those that were are not to be written again."""
    for id_, (count, seen) in counted.items():
        written = book.one(
            "SELECT c.last_seen_at >= ? FROM copies c JOIN deliveries d ON d.n = c.delivery "
            "WHERE d.id = ?",
            (seen, id_),
        )
        if written:
            more, last = book.copies.pop(id_)
            if more > count:
                book.copies[id_] = (more - count, last)


def count_rules(book: Book, counts: Sequence[RuleCount]) -> None:
    """Add to the rules' counts."""
    book.db.executemany(
        "INSERT INTO rule_counts (rule, evaluated, matched, errored, shadowed, counted_since, "
        "last_matched_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (rule) DO UPDATE SET "
        "evaluated = evaluated + excluded.evaluated, matched = matched + excluded.matched, "
        "errored = errored + excluded.errored, shadowed = shadowed + excluded.shadowed, "
        "counted_since = min(counted_since, excluded.counted_since), last_matched_at = "
        "coalesce(max(last_matched_at, excluded.last_matched_at), last_matched_at, "
        "excluded.last_matched_at)",
        [msgspec.structs.astuple(count) for count in counts],
    )
    book.pages += 1 + len(counts) // 32


def count_activity(book: Book, counts: Sequence[ActivityCount]) -> None:
    """Add to what was counted of spans of time."""
    book.db.executemany(activity.ADD, activity.rows(counts))
    book.pages += 1 + len(counts) // 32


def beat(book: Book) -> None:
    """Write something, to prove that it can be written."""
    book.db.execute("UPDATE pulse SET beat = beat + 1")
    book.pages += 1
