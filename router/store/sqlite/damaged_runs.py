"""The jobs of a run as its chain sees them, however a disk has spoilt some of them."""

from collections.abc import Callable, Sequence

from router.store.common.chains import Member
from router.store.sqlite import damage
from router.store.sqlite.rows import STATES, decode_needs
from router.store.sqlite.writer_state import Book, Row

_COLUMNS = "SELECT n, action, state, due_at, target, waits, needs, attempt, reason FROM jobs"
_BYTES = (
    "SELECT n, CAST(action AS BLOB), state, due_at, CAST(target AS BLOB), waits, "
    "CAST(needs AS BLOB), attempt, CAST(reason AS BLOB) FROM jobs"
)
_TYPES = (str, str, int, int, int, int, str)


def read(book: Book, first: int, last: int, now: int) -> dict[int, Member]:
    """
    The jobs of these numbers, within the open transaction. One that nobody can read is dead by
    then, with the reason `corrupt`: it holds up no other.
    """
    try:
        found = _span(book, first, last)
    except Exception as error:
        if not damage.is_unreadable(error):
            raise
        found = _one_by_one(book, first, last, now)
    _name_again(list(found.values()))
    return found


def _span(book: Book, first: int, last: int) -> dict[int, Member]:
    rows = book.db.execute(f"{_COLUMNS} WHERE n BETWEEN ? AND ? ORDER BY n", (first, last))
    return {row[0]: _member(row) for row in rows}


def _one_by_one(book: Book, first: int, last: int, now: int) -> dict[int, Member]:
    found: dict[int, Member] = {}
    sql = "SELECT n FROM jobs WHERE n BETWEEN ? AND ? ORDER BY n"
    for (n,) in book.db.execute(sql, (first, last)).fetchall():
        try:
            found |= _span(book, n, n)
        except Exception as error:
            if not damage.is_unreadable(error):
                raise
            damage.met(book, n, now)
            found[n] = _legible(book.db.execute(f"{_BYTES} WHERE n = ?", (n,)).fetchone())
    return found


def _member(row: Row) -> Member:
    """Raises what `corrupt.is_unreadable` knows."""
    _, action, state, due_at, target, waits, needs, attempt, reason = row
    waits = waits or 0
    values = (action, target, state, due_at, waits, attempt, reason or "")
    if tuple(map(type, values)) != _TYPES or state < 0:
        raise ValueError("a value of another type")
    return Member(
        action, STATES[state], due_at, target, waits, decode_needs(needs), attempt, reason
    )


def _legible(row: Row) -> Member:
    """As much as can be read of a job that runs, or has ended."""
    _, action, state, due_at, target, waits, needs, attempt, reason = row
    try:
        needed = decode_needs(needs)
    except ValueError:
        needed = ()
    due_at, waits, attempt = (v if isinstance(v, int) else 0 for v in (due_at, waits, attempt))
    text = damage.legible
    why = None if reason is None else text(reason)
    return Member(text(action), STATES[state], due_at, text(target), waits, needed, attempt, why)


def _name_again(members: Sequence[Member]) -> None:
    """
    An action whose name was spoilt is the likest of those that others need and nobody has: else
    they would take it for one that a replay left out, and not wait for it.
    """
    for member in members:
        if damage.SPOILT in member.action:
            lost = {need.action for one in members for need in one.needs}
            lost -= {one.action for one in members}
            member.action = max(sorted(lost), key=_like(member.action), default=member.action)


def _like(spoilt: str) -> Callable[[str], int]:
    def alike(name: str) -> int:
        same = sum(a == b for a, b in zip(spoilt, name, strict=False))
        return same - abs(len(spoilt) - len(name))

    return alike
