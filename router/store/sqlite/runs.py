"""The runs that the file keeps, and what happens to them within the writer's transaction."""

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from router.model.job import Group, Turn
from router.store.common import chains
from router.store.common.chains import Member
from router.store.common.columns import decode_needs, encode_needs
from router.store.common.damage import UNREADABLE, damaged
from router.store.common.run_changes import NewRun, Run, RunChanges, group_columns, to_turn
from router.store.common.states import RUNNING, STATE, STATES, TURN_HALTED, TURN_HAS, TURN_WAITS
from router.store.sqlite.damage import reading
from router.store.sqlite.fragments import LISTED
from router.store.sqlite.in_force import is_in_force
from router.store.sqlite.writer_state import Book, Row

T = TypeVar("T")

_JOB = (
    "jobs (n, id, state, due_at, target, rule, action, kind, event_index, event_id, event, "
    "created_at, generation, attempt, lease, started_at, replay_of, covers, run, waits, needs)"
)
_STATE = 2
_MEMBER_TYPES = (str, str, int, int, int, int, str)


def changes(book: Book, now: int) -> RunChanges:
    """What happens to runs within the open transaction; see `at_once`."""
    return RunChanges(SqliteRuns(book, now), now)


def at_once(change: Coroutine[Any, Any, T]) -> T:
    """What comes of a change to the runs of a `Book`, none of which ever waits for anything."""
    try:
        change.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    change.close()
    raise AssertionError("a change of the writer's own waits for something")


class SqliteRuns:
    """
    The rows of runs, by number; jobs are by number too. Nothing here suspends.
    """

    def __init__(self, book: Book, now: int) -> None:
        self._book, self._now = book, now
        self._fresh: dict[int, Run] = {}  # runs as they were inserted, not yet asked for

    async def insert(self, new: NewRun) -> int:
        book, turn, members = self._book, new.turn, new.members()
        n = book.next_run
        book.next_run = n + 1
        rows = [_linked(row, n, member) for row, member in zip(new.rows, members, strict=True)]
        book.insert(_JOB, rows)
        place: Sequence[Any] = (None,) * 6
        if turn is not None:
            at_once, *words = group_columns(turn.group)
            place = (TURN_WAITS, turn.key, turn.value, at_once, *words)
            by_number = {row[0]: member for row, member in zip(rows, members, strict=True)}
            self._fresh[n] = Run(n, turn.key, TURN_WAITS, words[0], words[1], by_number)
        book.db.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (n, new.jobs[0].rule, rows[0][0], rows[-1][0], new.origin, *place),
        )
        book.pages += 2
        if begun := {row[0]: n for row in rows if row[_STATE] == RUNNING}:
            book.later.append(lambda: book.linked.update(begun))
        return n

    async def load(self, run: int) -> Run | None:
        if (fresh := self._fresh.pop(run, None)) is not None:
            return fresh
        book = self._book
        row = book.db.execute(
            "SELECT first_job, last_job, key, turn, on_busy, on_dead FROM runs WHERE n = ?", (run,)
        ).fetchone()
        if row is None:
            return None
        first, last, key, turn, busy, dead = row
        with reading(book.db, lambda: range(first, last + 1)):
            members = self._members(first, last)
        return Run(run, key, turn, busy, dead, members)

    def _members(self, first: int, last: int) -> dict[int, Member]:
        rows = self._book.db.execute(
            "SELECT n, action, state, due_at, target, waits, needs, attempt, reason FROM jobs "
            "WHERE n BETWEEN ? AND ? ORDER BY n",
            (first, last),
        )
        found: dict[int, Member] = {}
        for n, action, state, due_at, target, waits, needs, attempt, reason in rows:
            values = (action, target, state, due_at, waits or 0, attempt, reason or "")
            try:
                if tuple(map(type, values)) != _MEMBER_TYPES or state < 0:
                    raise ValueError("a value of another type")
                named, needed = STATES[state], decode_needs(needs)
            except UNREADABLE as error:
                raise damaged("jobs", n, error) from error
            found[n] = Member(action, named, due_at, target, waits or 0, needed, attempt, reason)
        return found

    async def write(self, changed: Sequence[tuple[int, Member]]) -> None:
        ended = self._book.wall(self._now)
        self._book.db.executemany(
            "UPDATE jobs SET state = ?, due_at = ?, waits = ?, reason = ?, ended_at = ? "
            "WHERE n = ?",
            [
                (STATE[m.state], m.due_at, m.waits or None, m.reason, ended if m.ended else None, n)
                for n, m in changed
            ],
        )
        self._book.pages += len(changed)

    async def set_turn(self, run: Run, turn: int | None) -> None:
        self._book.db.execute("UPDATE runs SET turn = ? WHERE n = ?", (turn, run.id))
        self._book.pages += 1

    async def held(self, key: str) -> int:
        return self._held(key)

    def _held(self, key: str) -> int:
        held = f"SELECT count(*) FROM runs WHERE key = ? AND turn BETWEEN {TURN_HAS}"
        return int(self._book.one(f"{held} AND {TURN_HALTED}", (key,)))

    async def next(self, key: str) -> int | None:
        waiting = f"SELECT n, at_once FROM runs WHERE key = ? AND turn = {TURN_WAITS}"
        row = self._book.db.execute(f"{waiting} ORDER BY n LIMIT 1", (key,)).fetchone()
        return None if row is None or self._held(key) >= row[1] else int(row[0])

    async def standing(self, key: str, turn: int) -> list[int]:
        return self._numbers("SELECT n FROM runs WHERE key = ? AND turn = ? ORDER BY n", key, turn)

    async def is_awaited(self, run: Run) -> bool:
        waiting = f"SELECT 1 FROM runs WHERE key = ? AND turn = {TURN_WAITS} AND n > ? LIMIT 1"
        return self._book.one(waiting, (run.key, run.id)) is not None

    async def of_jobs(self, jobs: str) -> list[int]:
        """`jobs` is a JSON list of numbers."""
        found = "SELECT DISTINCT run FROM jobs WHERE n"
        return self._numbers(f"{found} {LISTED} AND run IS NOT NULL ORDER BY run", jobs)

    async def regroup(self, groups: Mapping[str, Group]) -> tuple[int, Iterable[str]]:
        total, keys = 0, dict[str, None]()
        for rule in self._texts("rule", "turn IS NOT NULL"):
            if rule in groups and (changed := self._regroup(rule, groups[rule])):
                total += changed
                keys |= dict.fromkeys(self._texts("key", "turn IS NOT NULL AND rule = ?", (rule,)))
                if groups[rule].on_dead == "continue":
                    halted = f"WHERE turn = {TURN_HALTED} AND rule = ?"
                    self._book.db.execute(f"UPDATE runs SET turn = NULL {halted}", (rule,))
        return total, keys

    def _regroup(self, rule: str, group: Group) -> int:
        changed = self._book.db.execute(
            "UPDATE runs SET at_once = ?1, on_busy = ?2, on_dead = ?3 "
            "WHERE turn IS NOT NULL AND rule = ?4 "
            "AND (at_once != ?1 OR on_busy != ?2 OR on_dead != ?3)",
            (*group_columns(group), rule),
        ).rowcount
        self._book.pages += changed
        return changed

    async def forget(self, which: str, values: Any) -> list[str]:
        """`which` selects numbers of jobs."""
        if self._book.next_run == 1:
            return []
        gone = f"SELECT run FROM jobs WHERE n IN ({which}) AND run IS NOT NULL"
        keys = self._texts("key", f"turn = {TURN_HALTED} AND n IN ({gone})", values)
        self._book.db.execute(f"DELETE FROM runs WHERE n IN ({gone})", values)
        return keys

    def _texts(self, column: str, where: str, values: Any = ()) -> list[str]:
        """What such runs have there, each once."""
        found = f"SELECT DISTINCT {column} FROM runs WHERE {where}"
        return [text for (text,) in self._book.db.execute(found, values).fetchall()]

    def _numbers(self, sql: str, *values: Any) -> list[int]:
        return [n for (n,) in self._book.db.execute(sql, values).fetchall()]


def regroup(book: Book, groups: Mapping[str, Group | None], *, generation: str, now: int) -> int:
    """Apply the groups of this generation's rules, if it is the one in force."""
    if not is_in_force(book, generation):
        return 0
    return at_once(changes(book, now).regroup(groups))


def insert_waiting(book: Book, rows: Sequence[Row]) -> None:
    """Insert jobs by themselves whose rule is paused."""
    book.insert(_JOB, [(*row, None, chains.PAUSED, None) for row in rows])


def _linked(row: Row, run: int, member: Member) -> Row:
    state, needs = STATE[member.state], encode_needs(member.needs)
    return (*row[:_STATE], state, *row[_STATE + 1 :], run, member.waits or None, needs)


def stored_turn(book: Book, run: int | None) -> Turn | None:
    """The turn of a run, if it has one."""
    row = book.db.execute(
        "SELECT key, value, at_once, on_busy, on_dead FROM runs WHERE n = ? AND key IS NOT NULL",
        (run,),
    ).fetchone()
    return None if row is None else to_turn(*row)
