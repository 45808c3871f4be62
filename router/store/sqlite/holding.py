"""Jobs of paused rules and paused targets: made to wait, and let go again."""

from collections.abc import Collection

import msgspec

from router.model.target import PAUSED as PAUSED_FACT
from router.model.target import Pause
from router.store.common.chains import PAUSED, TARGET
from router.store.common.states import WAITING
from router.store.sqlite.fragments import DUE, LISTED, listed, state_is
from router.store.sqlite.in_force import is_in_force
from router.store.sqlite.operations import STEP, remember
from router.store.sqlite.reading import recall
from router.store.sqlite.writer_state import Book


def hold(book: Book, rules: Collection[str], *, generation: str, now: int) -> int:
    """
    Some jobs of paused rules and targets made to wait, some of others released: one step. None, if
    other rules than those of this generation are in force.
    """
    if not is_in_force(book, generation):
        return 0
    targets = _paused(book)
    held = _hold(book, PAUSED, "rule", rules) + _hold(book, TARGET, "target", targets)
    released = _release(book, PAUSED, f"rule NOT {LISTED}", rules, now)
    return held + released + _release(book, TARGET, f"target NOT {LISTED}", targets, now)


def pause(book: Book, target: str, why: Pause) -> int:
    """A target is paused, if it was not: the first step of its jobs."""
    if target not in _paused(book):
        remember(book, {PAUSED_FACT + target: msgspec.to_builtins(why)})
    return pause_on(book, target)


def pause_on(book: Book, target: str) -> int:
    """Some jobs of a target made to wait, if it is paused still: one step."""
    return _hold(book, TARGET, "target", {target} & _paused(book))


def resume(book: Book, target: str, now: int) -> int:
    """A target is paused no more: the first step of its jobs."""
    remember(book, {PAUSED_FACT + target: None})
    return resume_on(book, target, now)


def resume_on(book: Book, target: str, now: int) -> int:
    """Some jobs of a target released, if it is not paused again: one step."""
    return _release(book, TARGET, f"target {LISTED}", {target} - _paused(book), now)


def _paused(book: Book) -> set[str]:
    return {name.removeprefix(PAUSED_FACT) for name in recall(book.db, PAUSED_FACT)}


def _hold(book: Book, what: int, column: str, names: Collection[str]) -> int:
    # Those that wait for something else must not start when they have it.
    held = sum(
        book.db.execute(
            f"UPDATE jobs SET state = {WAITING}, waits = coalesce(waits, 0) | {what} "
            f"WHERE n IN (SELECT n FROM jobs WHERE {which} AND {column} {LISTED} LIMIT ?)",
            (listed(sorted(names)), STEP),
        ).rowcount
        for which in (DUE, f"{state_is('waiting')} AND NOT waits & {what}")
        if names
    )
    book.pages += held
    return held


def _release(book: Book, what: int, whose: str, names: Collection[str], now: int) -> int:
    """Due anew, so that the time in which they had to wait does not make them too old."""
    released = book.db.execute(
        f"UPDATE jobs SET state = CASE WHEN waits = {what} THEN attempt > 0 ELSE {WAITING} END, "
        f"due_at = max(due_at, ?), waits = nullif(waits - {what}, 0) "
        f"WHERE n IN (SELECT n FROM jobs WHERE waits >= {PAUSED} AND waits & {what} "
        f"AND {whose} LIMIT ?)",
        (now, listed(sorted(names)), STEP),
    ).rowcount
    book.pages += released
    return released
