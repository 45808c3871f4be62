"""Runs in the ledger: chains followed, turns given, within the transaction that ends a job."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from router.model.job import Group, NewJob, Turn
from router.store.common import chains
from router.store.common.chains import Member
from router.store.sqlite import damage, damaged_runs
from router.store.sqlite.rows import PLACE_BITS, STATE, encode_needs
from router.store.sqlite.writer_state import Book, Row

WAITS, HAS, HALTED, GONE = 0, 1, 2, None
"""Where a run stands in its group; gone is also who has none."""
QUEUE, LATEST, DROP = 0, 1, 2
ON_BUSY: Final = {"queue": QUEUE, "latest": LATEST, "drop": DROP}
ON_DEAD: Final = {"continue": 0, "halt": 1}
UNLIMITED = 2**31

_JOB = (
    "jobs (n, id, state, due_at, target, rule, action, kind, event_index, event_id, event, "
    "created_at, generation, attempt, lease, started_at, replay_of, covers, run, waits, needs)"
)
_STATE = 2
_RUN = "n, first_job, last_job, turn, CAST(key AS BLOB), at_once, on_busy, on_dead"


class Effects(msgspec.Struct):
    """
    Targets and due times of jobs that may start now, or that a lease has to tell of; reasons of
    jobs that never will.
    """

    freed: list[tuple[str, int]] = []
    cancelled: list[str] = []


class Run:
    """
    A run as stored, its members loaded, what has changed told apart when it is written. One whose
    key a disk has spoilt goes on alone: its key is then that of no other.
    """

    def __init__(self, row: Sequence[Any], found: Mapping[int, Member]) -> None:
        self.n, self.first, self.last, self.turn, key, self.at_once = row[:6]
        self.key = None if key is None else damage.legible(key)
        self.latest, self.halts = row[6] == LATEST, bool(row[7])
        self.numbers, self.members = list(found), list(found.values())
        self._before = [msgspec.structs.astuple(member) for member in self.members]

    def write(self, book: Book, now: int, effects: Effects) -> None:
        """Write down the members that changed, and tell what that means for others."""
        rows: list[Row] = []
        for n, member, before in zip(self.numbers, self.members, self._before, strict=True):
            if msgspec.structs.astuple(member) == before:
                continue
            rows.append(_changed(n, member, book.wall(now)))
            if member.state == "cancelled":
                effects.cancelled.append((member.reason or "").partition(":")[0])
            elif member.state in ("available", "retryable"):
                effects.freed.append((member.target, member.due_at))
        self._before = [msgspec.structs.astuple(member) for member in self.members]
        book.db.executemany(
            "UPDATE jobs SET state = ?, due_at = ?, waits = ?, reason = ?, ended_at = ? "
            "WHERE n = ?",
            rows,
        )
        book.pages += len(rows)


def _changed(n: int, member: Member, now: int) -> Row:
    return (
        STATE[member.state],
        member.due_at,
        member.waits or None,
        member.reason,
        now if member.ended else None,
        n,
    )


def _load(book: Book, n: int, now: int, effects: Effects) -> Run | None:
    row = book.db.execute(f"SELECT {_RUN} FROM runs WHERE n = ?", (n,)).fetchone()
    if row is None:
        return None
    known = len(book.open)
    found = damaged_runs.read(book, row[1], row[2], now)
    effects.freed += [(found[number].target, at) for number, at in book.open[known:]]
    return Run(row, found)


# -- new runs ---------------------------------------------------------------------------------


def insert_waiting(book: Book, rows: Sequence[Row]) -> None:
    """Insert jobs by themselves whose rule is paused."""
    book.insert(_JOB, [(*row, None, chains.PAUSED, None) for row in rows])


class New(msgspec.Struct, frozen=True):
    """
    A run to add: its jobs and their rows. `origin` is the run it replays; `takes_over` the halted
    one whose turn it inherits.
    """

    jobs: Sequence[NewJob]
    rows: Sequence[Row]
    turn: Turn | None
    origin: int | None = None
    takes_over: int | None = None


def add(book: Book, new: New, now: int, effects: Effects) -> None:
    """Add a run within the open transaction, and decide whether it has its turn."""
    n = book.next_run
    book.next_run = n + 1
    actions = {job.action for job in new.jobs}
    rows = [
        _linked(job, row, n, _waits(job, actions, new.turn is not None))
        for job, row in zip(new.jobs, new.rows, strict=True)
    ]
    book.insert(_JOB, rows)
    group = (None,) * 6 if new.turn is None else (WAITS, *_grouping(new.turn))
    book.db.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (n, new.jobs[0].rule, rows[0][0], rows[-1][0], new.origin, *group),
    )
    book.pages += 2
    begun = {row[0]: n for row in rows if row[_STATE] == STATE["running"]}
    if begun:
        book.later.append(lambda: book.linked.update(begun))
    if new.turn is not None:
        _enter(book, n, new, now, effects)


def _waits(job: NewJob, actions: set[str], grouped: bool) -> int:
    needed = any(need.action in actions for need in job.after)
    return (
        (chains.PREDECESSORS if needed else 0)
        + (chains.TURN if grouped else 0)
        + (chains.PAUSED if job.state == "waiting" else 0)
    )


def _linked(job: NewJob, row: Row, run: int, waits: int) -> Row:
    state = STATE["waiting"] if waits else row[_STATE]
    return (*row[:_STATE], state, *row[_STATE + 1 :], run, waits or None, encode_needs(job.after))


def _grouping(turn: Turn) -> tuple[str, str, int, int, int]:
    group = turn.group
    return turn.key, turn.value, group.limit, ON_BUSY[group.on_busy], ON_DEAD[group.on_dead]


def _enter(book: Book, n: int, new: New, now: int, effects: Effects) -> None:
    """A new run meets those of its key that are there: the table of concurrency groups."""
    turn = new.turn
    if turn is None:
        return
    if new.takes_over is not None:
        _set_turn(book, new.takes_over, GONE)
        _give_turn(book, n, now, effects)
    elif turn.group.on_busy == "drop" and _held(book, turn.key) >= turn.group.limit:
        _end(book, n, chains.BUSY, now, effects)
    elif turn.group.on_busy == "latest":
        _only_newest(book, n, turn, now, effects)
    advance(book, turn.key, now, effects)


def _only_newest(book: Book, n: int, turn: Turn, now: int, effects: Effects) -> None:
    """Older runs of the key that wait are superseded, and those that hold a turn and yield it."""
    for (older,) in book.db.execute(
        "SELECT n FROM runs WHERE key = ? AND turn = 0 AND n < ?", (turn.key, n)
    ).fetchall():
        _end(book, older, chains.SUPERSEDED, now, effects)
    for (holder,) in book.db.execute(
        "SELECT n FROM runs WHERE key = ? AND turn = 1 ORDER BY n", (turn.key,)
    ).fetchall():
        if _held(book, turn.key) < turn.group.limit:
            return
        run = _load(book, holder, now, effects)
        if run is not None and chains.yields(run.members):
            _supersede(book, run, now, effects)


def _supersede(book: Book, run: Run, now: int, effects: Effects) -> None:
    chains.supersede(run.members)
    run.write(book, now, effects)
    _set_turn(book, run.n, GONE)


def _end(book: Book, n: int, reason: str, now: int, effects: Effects) -> None:
    """Cancel what is left of a run that has no turn."""
    run = _load(book, n, now, effects)
    if run is None:
        return
    for member in run.members:
        if not member.ended and member.state != "running":
            member.cancel(reason)
    run.write(book, now, effects)
    _set_turn(book, n, GONE)


# -- what comes of an end -----------------------------------------------------------------------


def follow(book: Book, n: int, now: int, effects: Effects) -> None:
    """A job of this run has ended or is between its attempts: see what that means."""
    run = _load(book, n, now, effects)
    if run is None:
        return
    chains.follow(run.members, now)
    run.write(book, now, effects)
    if run.turn is GONE or run.key is None:
        return
    if chains.ended(run.members):
        dead = any(member.state == "dead" for member in run.members)
        halts = run.halts and run.turn != WAITS and dead
        _set_turn(book, n, HALTED if halts else GONE)
        if halts:
            return
    elif run.latest and run.turn == HAS and _newer(book, run) and chains.yields(run.members):
        _supersede(book, run, now, effects)
    else:
        return
    advance(book, run.key, now, effects)


def follow_all(book: Book, numbers: str, now: int) -> None:
    """These jobs (a JSON list of numbers) were changed by a verb: see to their runs."""
    effects = Effects()
    for n in _runs_of(book, numbers):
        follow(book, n, now, effects)


def reopen(book: Book, numbers: str, now: int) -> None:
    """These jobs (a JSON list of numbers) were dead and are not: their runs go on."""
    for n in _runs_of(book, numbers):
        run = _load(book, n, now, Effects())
        if run is None:
            continue
        chains.wait_again(run.members)
        queues = run.key is not None and run.turn in (GONE, WAITS)
        if queues:  # it gave its turn back, so it queues for another
            for member in run.members:
                if not member.ended and member.state != "running":
                    member.hold(chains.TURN)
        run.write(book, now, Effects())
        if run.key is not None:
            _set_turn(book, n, WAITS if queues else HAS)
            advance(book, run.key, now, Effects())
        follow(book, n, now, Effects())


def _runs_of(book: Book, numbers: str) -> list[int]:
    return [
        n
        for (n,) in book.db.execute(
            "SELECT DISTINCT run FROM jobs WHERE n IN (SELECT value FROM json_each(?)) "
            "AND run IS NOT NULL ORDER BY run",
            (numbers,),
        ).fetchall()
    ]


# -- turns ------------------------------------------------------------------------------------


def advance(book: Book, key: str, now: int, effects: Effects) -> None:
    """Give the turns of a key that are free to the runs that wait longest."""
    while True:
        row = book.db.execute(
            "SELECT n, at_once FROM runs WHERE key = ? AND turn = 0 ORDER BY n LIMIT 1",
            (key,),
        ).fetchone()
        if row is None or _held(book, key) >= row[1]:
            return
        _give_turn(book, row[0], now, effects)


def _give_turn(book: Book, n: int, now: int, effects: Effects) -> None:
    run = _load(book, n, now, effects)
    if run is None:
        return
    for member in run.members:
        if member.waits & chains.TURN:
            member.free(chains.TURN, now)
    run.write(book, now, effects)
    _set_turn(book, n, HAS)


def _set_turn(book: Book, n: int, turn: int | None) -> None:
    book.db.execute("UPDATE runs SET turn = ? WHERE n = ?", (turn, n))
    book.pages += 1


def _held(book: Book, key: str) -> int:
    return int(book.one("SELECT count(*) FROM runs WHERE key = ? AND turn BETWEEN 1 AND 2", (key,)))


def _newer(book: Book, run: Run) -> bool:
    found = book.one(
        "SELECT 1 FROM runs WHERE key = ? AND turn = 0 AND n > ? LIMIT 1",
        (run.key, run.n),
    )
    return found is not None


def regroup(book: Book, groups: Mapping[str, Group | None], now: int) -> int:
    """Apply today's groups to the runs that have or await a turn."""
    changed = 0
    for rule in _texts(book, "rule", "turn IS NOT NULL"):
        if rule in groups:
            changed += _regroup(book, rule, groups[rule], now)
    return changed


def _texts(book: Book, column: str, where: str, values: Any = ()) -> list[str]:
    """What such runs have there, each once; what a disk has spoilt is legible, and no other's."""
    found = book.db.execute(
        f"SELECT DISTINCT CAST({column} AS BLOB) FROM runs WHERE {where}", values
    )
    return [damage.legible(raw) for (raw,) in found.fetchall()]


def _regroup(book: Book, rule: str, group: Group | None, now: int) -> int:
    busy, dead = ("queue", "continue") if group is None else (group.on_busy, group.on_dead)
    values = (UNLIMITED if group is None else group.limit, ON_BUSY[busy], ON_DEAD[dead])
    changed = book.db.execute(
        "UPDATE runs SET at_once = ?1, on_busy = ?2, on_dead = ?3 "
        "WHERE turn IS NOT NULL AND rule = ?4 "
        "AND (at_once != ?1 OR on_busy != ?2 OR on_dead != ?3)",
        (*values, rule),
    ).rowcount
    book.pages += changed
    if changed:
        keys = _texts(book, "key", "turn IS NOT NULL AND rule = ?", (rule,))
        if dead == "continue":
            book.db.execute("UPDATE runs SET turn = NULL WHERE turn = 2 AND rule = ?", (rule,))
        for key in keys:
            advance(book, key, now, Effects())
    return changed


def halted(book: Book, key: str) -> list[tuple[int, int]]:
    """The runs that halt a key, each with the delivery it came of (numbers)."""
    return [
        (n, first >> PLACE_BITS)
        for n, first in book.db.execute(
            "SELECT n, first_job FROM runs WHERE key = ? AND turn = 2 ORDER BY n",
            (key,),
        )
    ]


def forget(book: Book, jobs: str, deliveries: Mapping[str, Any], now: int) -> None:
    """The jobs that this statement selects are about to be removed, and with them their runs."""
    if book.next_run == 1:
        return
    gone = f"SELECT run FROM jobs WHERE n IN ({jobs}) AND run IS NOT NULL"
    keys = _texts(book, "key", f"turn = 2 AND n IN ({gone})", deliveries)
    book.db.execute(f"DELETE FROM runs WHERE n IN ({gone})", deliveries)
    for key in keys:
        advance(book, key, now, Effects())


def stored_turn(row: Iterable[Any]) -> Turn | None:
    """The turn of a run from its key, value (bytes), limit, on_busy and on_dead columns."""
    key, value, at_once, on_busy, on_dead = row
    if key is None:
        return None
    busy = next(word for word, number in ON_BUSY.items() if number == on_busy)
    dead = next(word for word, number in ON_DEAD.items() if number == on_dead)
    group = Group(at_once, busy, dead)  # type: ignore[arg-type]
    return Turn(damage.legible(key), damage.legible(value), group)
