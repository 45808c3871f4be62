"""Runs in the ledger: chains followed, turns given, within the transaction that ends a job."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from router.model.job import Group, NewJob, Turn
from router.store.common import chains
from router.store.common.chains import Member
from router.store.common.columns import encode_needs
from router.store.common.states import RUNNING, STATE, TURN_HALTED, TURN_HAS, TURN_WAITS, WAITING
from router.store.sqlite import damage
from router.store.sqlite.fragments import LISTED
from router.store.sqlite.publishing import in_force
from router.store.sqlite.writer_state import Book, Row

ON_BUSY: Final = {"queue": 0, "latest": 1, "drop": 2}
ON_DEAD: Final = {"continue": 0, "halt": 1}
UNLIMITED = 2**31

_JOB = (
    "jobs (n, id, state, due_at, target, rule, action, kind, event_index, event_id, event, "
    "created_at, generation, attempt, lease, started_at, replay_of, covers, run, waits, needs)"
)
_STATE = 2
_RUN = "n, first_job, last_job, turn, CAST(key AS BLOB), at_once, on_busy, on_dead"


class StoredRun:
    """
    A run as stored, its members loaded. One whose key a disk has spoilt goes on alone: its key is
    then that of no other.
    """

    def __init__(self, row: Sequence[Any], found: Mapping[int, Member]) -> None:
        self.n, _, _, self.turn, key, self.at_once, on_busy, on_dead = row
        self.key = None if key is None else damage.legible(key)
        self.latest, self.halts = on_busy == ON_BUSY["latest"], bool(on_dead)
        self.numbers, self.members = list(found), list(found.values())
        self.before = [msgspec.structs.astuple(member) for member in self.members]


class NewRun(msgspec.Struct, frozen=True):
    """
    A run to add: its jobs and their rows. `origin` is the run it replays; `takes_over` the halted
    one whose turn it inherits.
    """

    jobs: Sequence[NewJob]
    rows: Sequence[Row]
    turn: Turn | None
    origin: int | None = None
    takes_over: int | None = None


class RunChanges:
    """
    What happens to runs at the ledger time `now`, within the open transaction, and what comes of
    it for others: `freed` are targets and due times of jobs that may start now, or that a lease
    has to report; `cancelled` the reasons of jobs that never will.
    """

    def __init__(self, book: Book, now: int) -> None:
        self.book, self.now = book, now
        self.freed: list[tuple[str, int]] = []
        self.cancelled: list[str] = []

    def add(self, new: NewRun) -> None:
        """Add a run, and decide whether it has its turn."""
        book, turn = self.book, new.turn
        n = book.next_run
        book.next_run = n + 1
        actions = {job.action for job in new.jobs}
        rows = [
            _linked(job, row, n, _waits(job, actions, turn is not None))
            for job, row in zip(new.jobs, new.rows, strict=True)
        ]
        book.insert(_JOB, rows)
        place: Sequence[Any] = (None,) * 6
        if turn is not None:
            busy, dead = ON_BUSY[turn.group.on_busy], ON_DEAD[turn.group.on_dead]
            place = (TURN_WAITS, turn.key, turn.value, turn.group.limit, busy, dead)
        book.db.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (n, new.jobs[0].rule, rows[0][0], rows[-1][0], new.origin, *place),
        )
        book.pages += 2
        if begun := {row[0]: n for row in rows if row[_STATE] == RUNNING}:
            book.later.append(lambda: book.linked.update(begun))
        if turn is not None:
            self._enter(n, turn, new.takes_over)

    def _enter(self, n: int, turn: Turn, takes_over: int | None) -> None:
        """A new run meets those of its key that are there: the table of concurrency groups."""
        if takes_over is not None:
            self._set_turn(takes_over, None)
            self._give_turn(n)
        elif turn.group.on_busy == "drop" and self._held(turn.key) >= turn.group.limit:
            self._cancel_rest(self._load(n), chains.BUSY)
        elif turn.group.on_busy == "latest":
            self._only_newest(n, turn)
        self.advance(turn.key)

    def _only_newest(self, n: int, turn: Turn) -> None:
        """Older runs of the key that wait are superseded, and those that hold a turn and yield."""
        of_key = "SELECT n FROM runs WHERE key = ? AND turn"
        for (older,) in self._rows(f"{of_key} = {TURN_WAITS} AND n < ?", turn.key, n):
            self._cancel_rest(self._load(older), chains.SUPERSEDED)
        for (holder,) in self._rows(f"{of_key} = {TURN_HAS} ORDER BY n", turn.key):
            if self._held(turn.key) < turn.group.limit:
                return
            if (run := self._load(holder)) is not None and chains.yields(run.members):
                self._cancel_rest(run, chains.SUPERSEDED)

    def _cancel_rest(self, run: StoredRun | None, reason: str) -> None:
        """Cancel what is left of a run; it has no turn any more."""
        if run is not None:
            chains.cancel_rest(run.members, reason)
            self._write(run)
            self._set_turn(run.n, None)

    def follow(self, n: int) -> None:
        """A job of this run has ended or is between its attempts: see what that means."""
        if (run := self._load(n)) is None:
            return
        chains.follow(run.members, self.now)
        self._write(run)
        if run.turn is None or run.key is None:
            return
        if chains.ended(run.members):
            dead = any(member.state == "dead" for member in run.members)
            halts = run.halts and run.turn != TURN_WAITS and dead
            self._set_turn(n, TURN_HALTED if halts else None)
            if halts:
                return
        elif (
            run.latest and run.turn == TURN_HAS and self._newer(run) and chains.yields(run.members)
        ):
            self._cancel_rest(run, chains.SUPERSEDED)
        else:
            return
        self.advance(run.key)

    def follow_jobs(self, numbers: str) -> None:
        """These jobs (a JSON list of numbers) were changed by a verb: see to their runs."""
        for n in self._runs_of(numbers):
            self.follow(n)

    def reopen(self, numbers: str) -> None:
        """These jobs (a JSON list of numbers) were dead and are not: their runs go on."""
        for n in self._runs_of(numbers):
            if (run := self._load(n)) is None:
                continue
            chains.wait_again(run.members)
            queues = run.key is not None and run.turn in (None, TURN_WAITS)
            if queues:  # it gave its turn back, so it queues for another
                for member in run.members:
                    if not member.ended and member.state != "running":
                        member.hold(chains.TURN)
            self._write(run)
            if run.key is not None:
                self._set_turn(n, TURN_WAITS if queues else TURN_HAS)
                self.advance(run.key)
            self.follow(n)

    def _runs_of(self, numbers: str) -> list[int]:
        found = f"SELECT DISTINCT run FROM jobs WHERE n {LISTED} AND run IS NOT NULL ORDER BY run"
        return [n for (n,) in self._rows(found, numbers)]

    def _load(self, n: int) -> StoredRun | None:
        book = self.book
        row = book.db.execute(f"SELECT {_RUN} FROM runs WHERE n = ?", (n,)).fetchone()
        if row is None:
            return None
        known = len(book.open)
        found = damage.members(book, row[1], row[2], self.now)
        self.freed += [(found[number].target, at) for number, at in book.open[known:]]
        return StoredRun(row, found)

    def _write(self, run: StoredRun) -> None:
        """Write down the members that changed, and note what that means for others."""
        rows: list[Row] = []
        for n, member, before in zip(run.numbers, run.members, run.before, strict=True):
            if msgspec.structs.astuple(member) == before:
                continue
            state, ended = STATE[member.state], self.book.wall(self.now) if member.ended else None
            rows.append((state, member.due_at, member.waits or None, member.reason, ended, n))
            if member.state == "cancelled":
                self.cancelled.append((member.reason or "").partition(":")[0])
            elif member.state in ("available", "retryable"):
                self.freed.append((member.target, member.due_at))
        run.before = [msgspec.structs.astuple(member) for member in run.members]
        self.book.db.executemany(
            "UPDATE jobs SET state = ?, due_at = ?, waits = ?, reason = ?, ended_at = ? "
            "WHERE n = ?",
            rows,
        )
        self.book.pages += len(rows)

    def advance(self, key: str) -> None:
        """Give the turns of a key that are free to the runs that wait longest."""
        waiting = f"SELECT n, at_once FROM runs WHERE key = ? AND turn = {TURN_WAITS}"
        while True:
            row = self.book.db.execute(f"{waiting} ORDER BY n LIMIT 1", (key,)).fetchone()
            if row is None or self._held(key) >= row[1]:
                return
            self._give_turn(row[0])

    def _give_turn(self, n: int) -> None:
        if (run := self._load(n)) is None:
            return
        for member in run.members:
            if member.waits & chains.TURN:
                member.free(chains.TURN, self.now)
        self._write(run)
        self._set_turn(n, TURN_HAS)

    def _set_turn(self, n: int, turn: int | None) -> None:
        self.book.db.execute("UPDATE runs SET turn = ? WHERE n = ?", (turn, n))
        self.book.pages += 1

    def _held(self, key: str) -> int:
        held = f"SELECT count(*) FROM runs WHERE key = ? AND turn BETWEEN {TURN_HAS}"
        return int(self.book.one(f"{held} AND {TURN_HALTED}", (key,)))

    def _newer(self, run: StoredRun) -> bool:
        waiting = f"SELECT 1 FROM runs WHERE key = ? AND turn = {TURN_WAITS} AND n > ? LIMIT 1"
        return self.book.one(waiting, (run.key, run.n)) is not None

    def regroup(self, groups: Mapping[str, Group | None]) -> int:
        """Apply today's groups to the runs that have or await a turn."""
        rules = self._texts("rule", "turn IS NOT NULL")
        return sum(self._regroup(rule, groups[rule]) for rule in rules if rule in groups)

    def _regroup(self, rule: str, group: Group | None) -> int:
        group = group or Group(UNLIMITED, "queue", "continue")
        changed = self.book.db.execute(
            "UPDATE runs SET at_once = ?1, on_busy = ?2, on_dead = ?3 "
            "WHERE turn IS NOT NULL AND rule = ?4 "
            "AND (at_once != ?1 OR on_busy != ?2 OR on_dead != ?3)",
            (group.limit, ON_BUSY[group.on_busy], ON_DEAD[group.on_dead], rule),
        ).rowcount
        self.book.pages += changed
        if changed:
            keys = self._texts("key", "turn IS NOT NULL AND rule = ?", (rule,))
            if group.on_dead == "continue":
                halted = f"WHERE turn = {TURN_HALTED} AND rule = ?"
                self.book.db.execute(f"UPDATE runs SET turn = NULL {halted}", (rule,))
            for key in keys:
                self.advance(key)
        return changed

    def forget(self, jobs: str, deliveries: Mapping[str, Any]) -> None:
        """The jobs that this statement selects are about to be removed, so their runs are."""
        if self.book.next_run == 1:
            return
        gone = f"SELECT run FROM jobs WHERE n IN ({jobs}) AND run IS NOT NULL"
        keys = self._texts("key", f"turn = {TURN_HALTED} AND n IN ({gone})", deliveries)
        self.book.db.execute(f"DELETE FROM runs WHERE n IN ({gone})", deliveries)
        for key in keys:
            self.advance(key)

    def _texts(self, column: str, where: str, values: Any = ()) -> list[str]:
        """What such runs have there, each once; spoilt ones are legible, and no other's."""
        found = f"SELECT DISTINCT CAST({column} AS BLOB) FROM runs WHERE {where}"
        return [damage.legible(raw) for (raw,) in self.book.db.execute(found, values).fetchall()]

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self.book.db.execute(sql, values).fetchall()


def regroup(book: Book, groups: Mapping[str, Group | None], *, generation: str, now: int) -> int:
    """Apply the groups of this generation's rules, if it is the one in force."""
    return RunChanges(book, now).regroup(groups) if in_force(book, generation) else 0


def insert_waiting(book: Book, rows: Sequence[Row]) -> None:
    """Insert jobs by themselves whose rule is paused."""
    book.insert(_JOB, [(*row, None, chains.PAUSED, None) for row in rows])


def _waits(job: NewJob, actions: set[str], grouped: bool) -> int:
    needed = any(need.action in actions for need in job.after)
    return (
        (chains.PREDECESSORS if needed else 0)
        + (chains.TURN if grouped else 0)
        + (chains.PAUSED if job.state == "waiting" else 0)
    )


def _linked(job: NewJob, row: Row, run: int, waits: int) -> Row:
    state = WAITING if waits else row[_STATE]
    return (*row[:_STATE], state, *row[_STATE + 1 :], run, waits or None, encode_needs(job.after))


def stored_turn(book: Book, run: int | None) -> Turn | None:
    """The turn of a run, if it has one."""
    row = book.db.execute(
        "SELECT CAST(key AS BLOB), CAST(value AS BLOB), at_once, on_busy, on_dead "
        "FROM runs WHERE n = ? AND key IS NOT NULL",
        (run,),
    ).fetchone()
    if row is None:
        return None
    key, value, at_once, on_busy, on_dead = row
    busy = next(word for word, number in ON_BUSY.items() if number == on_busy)
    dead = next(word for word, number in ON_DEAD.items() if number == on_dead)
    group = Group(at_once, busy, dead)  # type: ignore[arg-type]
    return Turn(damage.legible(key), damage.legible(value), group)
