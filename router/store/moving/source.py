"""A ledger in a file, read in batches as the rows that a database shall have of it."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from router.model.settings import DAY_MS
from router.model.target import FACT, PAUSED
from router.store.common.columns import decode_needs
from router.store.common.states import DEAD, RUNNING
from router.store.moving.tables import Row, checked
from router.store.postgres.ids import time_of
from router.store.postgres.runs import group_key
from router.store.sqlite import clock_step
from router.store.sqlite.fragments import PLACE_BITS
from router.store.sqlite.writer_state import last_number
from router.store.values import CLOCK_SEEN

ROWS, BYTES = 2_000, 8 * 1024 * 1024
"""Of one batch, at most, but for its last row."""
DAYS_BACK, DAYS_AHEAD = 60, 7
"""What is older or younger than this lies with the kept, so that days stay few."""
LEFT_OUT_MAX = 10_000

_OF_MACHINE = ("clock/", "ledger/", "copy/")
"""Facts that say something of the file and of where it lay."""
_TIMES = {FACT: ("since", "next_probe", "failing_since"), PAUSED: ("at",)}
"""In which facts there are ledger times."""

Out = Iterator[tuple[str, tuple[Any, ...]]]


class LeftOut(msgspec.Struct, frozen=True):
    """A row that cannot be read: of which table, by number or name, and why."""

    table: str
    row: str
    why: str


class Batch(NamedTuple):
    """
    Rows by table, ready for it. `read` rows of the file were read for them, up to the place
    `after`; None: there are no more.
    """

    rows: Mapping[str, list[Row]]
    read: int
    after: list[Any] | None
    left_out: list[LeftOut]


class FileLedger:
    """
    The file. `today` (days since 1970) is the day of the copy's beginning; batches have `at_once`
    rows at most.
    """

    def __init__(self, db: sqlite3.Connection, today: int, at_once: int = ROWS) -> None:
        db.text_factory = _text
        self._db, self.today, self._at_once = db, today, at_once
        self._ahead = clock_step.offset(db)
        self._unread: set[tuple[str, Any]] = set()

    def pass_over(self, left_out: Collection[LeftOut]) -> None:
        """An earlier run has left these out: what belongs to them goes with them."""
        self._unread |= {(one.table, int(one.row)) for one in left_out if one.row.isdecimal()}

    def count(self) -> int:
        """How many rows there are to read."""
        counts = [f"SELECT count(*) FROM {step.name}" for step in STEPS.values()]
        return sum(self._db.execute(sql).fetchone()[0] for sql in counts)

    def batch(self, name: str, after: list[Any] | None) -> Batch:
        """The rows of a step behind a place; None: from its beginning. Raises sqlite3.Error."""
        step, rows, left_out = STEPS[name], dict[str, list[Row]](), list[LeftOut]()
        width, read, size, place = len(step.key), 0, 0, None
        for row in self._db.execute(step.sql(after), after or ()):
            read, place = read + 1, list(row[:width])
            try:
                found = [(t, checked(t, values)) for t, values in step.rows(self, *row)]
            except (ValueError, TypeError, LookupError) as error:
                self._unread.add((name, place[0]))
                left_out.append(LeftOut(name, _shown(place), str(error)))
                found = []
            for table, values in found:
                rows.setdefault(table, []).append(values)
                size += sum([len(v) for v in values if isinstance(v, (bytes, str))])
            if read == self._at_once or size >= BYTES:
                return Batch(rows, read, place, left_out)
        return Batch(rows, read, None, left_out)

    # -- the rows of each table ------------------------------------------------------------------

    def generation(self, n: int, *values: Any) -> Out:
        yield "generations", (n, *values, self.today)

    def delivery(self, _: int, id_: str, *values: Any) -> Out:
        yield "deliveries", (id_, self._is_kept(id_), *values)

    def copied(self, n: int, id_: str, *values: Any) -> Out:
        self._check("deliveries", n, id_)
        yield "copies", (id_, *values)

    def key(self, key: bytes, delivery: str, until: int) -> Out:
        yield "keys", (key, delivery, until + self._ahead)

    def job(self, n: int, delivery: str, id_: str, *values: Any) -> Out:
        self._check("deliveries", n >> PLACE_BITS, delivery)
        *fixed, covers, replay_of, replay, run, needs = values[:14]
        state, due_at, attempt, charged, deaths, started, ended, reason, waits, lease = values[14:]
        decode_needs(needs)
        covered = None if covers is None else msgspec.json.decode(covers, type=list[int])
        row = id_, self._is_kept(delivery), delivery, *fixed, covered, replay_of, replay, run, needs
        due_at += self._ahead
        if state >= DEAD:
            yield "jobs", (*row, state, due_at, attempt, charged, deaths, started, ended, reason)
            return
        # Of a node that nobody knows: the first router reclaims it, as after a crash.
        lease = f"copied-{lease}" if state == RUNNING else None
        target, rule = fixed[:2]
        yield "jobs", (*row, None, None, 0, 0, 0, None, None, reason)
        standing = state, replay is not None, due_at, waits or 0, attempt, charged, deaths
        yield "queue", (id_, delivery, run, target, rule, *standing, lease, started)

    def attempt(self, job: int, number: int, delivery: str, id_: str, *values: Any) -> Out:
        self._check("deliveries", job >> PLACE_BITS, delivery)
        self._check("jobs", job, id_)
        yield "attempts", (id_, number, self._is_kept(delivery), *values)

    def run(self, n: int, first: int, last: int, delivery: str, id_: str, *values: Any) -> Out:
        self._check("deliveries", first >> PLACE_BITS, delivery)
        rule, origin, turn, key, *others = values
        sql = "SELECT n, id FROM jobs WHERE n BETWEEN ? AND ? ORDER BY n"
        found = self._db.execute(sql, (first, last)).fetchall()
        jobs = [job for number, job in found if ("jobs", number) not in self._unread]
        if not jobs:
            raise ValueError("it has no jobs")
        place = (None, None) if key is None else (group_key(key), n)
        yield "runs", (id_, jobs, rule, delivery, origin, turn, *place, *others)

    def rule_generation(self, rule: bytes, *values: Any) -> Out:
        yield "rule_generations", (rule.decode(), *values)

    def in_force(self, *values: Any) -> Out:
        yield "published", values

    def rule_count(self, rule: bytes, *values: Any) -> Out:
        yield "rule_counts", (rule.decode(), *values)

    def activity(
        self, span_s: int, at: int, kind: bytes, name: bytes, detail: bytes, *values: Any
    ) -> Out:
        yield "activity", (span_s, at, kind.decode(), name.decode(), detail.decode(), *values)

    def fact(self, raw: bytes, value: bytes, updated_at: int) -> Out:
        name = raw.decode()
        if name.startswith(_OF_MACHINE):
            return
        for prefix, times in _TIMES.items():
            if name.startswith(prefix) and self._ahead:
                found = msgspec.json.decode(value)
                moved = {at: found[at] + self._ahead for at in times if found.get(at)}
                value = msgspec.json.encode(found | moved)
        msgspec.json.decode(value)
        yield "facts", (name, value, updated_at)

    def replay(self, *values: Any) -> Out:
        *before, due = values[:7]
        if self._ahead:
            times = msgspec.json.decode(due, type=dict[str, float])
            due = msgspec.json.encode({name: at + self._ahead for name, at in times.items()})
        yield "replays", (*before, due, *values[7:])

    def audit(self, *values: Any) -> Out:
        yield "audit", values

    def _check(self, table: str, number: int, id_: str | None) -> None:
        if id_ is None or (table, number) in self._unread:
            raise ValueError(f"what it belongs to in {table} cannot be read")

    def _is_kept(self, delivery: str) -> bool:
        day = time_of(delivery) // DAY_MS
        return not self.today - DAYS_BACK <= day <= self.today + DAYS_AHEAD


class Step(NamedTuple):
    """A table of the file by its key, and what becomes of each of its rows."""

    name: str
    key: tuple[str, ...]
    columns: str
    rows: Callable[..., Out]
    joins: str = ""

    def sql(self, after: object) -> str:
        """Asks for the rows behind a place, in order, the columns of the key first."""
        key, marks = ", ".join(self.key), ", ".join("?" * len(self.key))
        behind = "" if after is None else f"WHERE ({key}) > ({marks}) "
        return (
            f"SELECT {key}, {self.columns} FROM {self.name} t {self.joins} {behind}ORDER BY {key}"
        )


_OF_JOB = f"LEFT JOIN deliveries d ON d.n = t.job >> {PLACE_BITS} LEFT JOIN jobs j ON j.n = t.job"
_FIRST = "LEFT JOIN runs r ON r.n = t.{0} LEFT JOIN jobs f ON f.n = r.first_job"

STEPS = {
    step.name: step
    for step in (
        Step("generations", ("n",), "id, text, context, created_at", FileLedger.generation),
        Step(
            "deliveries",
            ("n",),
            "id, endpoint, state, received_at, generation, names, events, meta, body",
            FileLedger.delivery,
        ),
        Step(
            "copies",
            ("t.delivery",),
            "d.id, t.count, t.last_seen_at",
            FileLedger.copied,
            "LEFT JOIN deliveries d ON d.n = t.delivery",
        ),
        Step("keys", ("key",), "delivery, until", FileLedger.key),
        Step(
            "jobs",
            ("t.n",),
            "d.id, t.id, t.target, t.rule, t.action, t.kind, t.event_index, t.event_id, t.event, "
            "t.created_at, t.generation, t.covers, t.replay_of, t.replay, f.id, t.needs, t.state, "
            "t.due_at, t.attempt, t.charged, t.deaths, t.started_at, t.ended_at, t.reason, "
            "t.waits, t.lease",
            FileLedger.job,
            f"LEFT JOIN deliveries d ON d.n = t.n >> {PLACE_BITS} {_FIRST.format('run')}",
        ),
        Step(
            "attempts",
            ("t.job", "t.number"),
            "d.id, j.id, t.started_at, t.ended_at, t.outcome, t.reason, t.result, t.generation",
            FileLedger.attempt,
            _OF_JOB,
        ),
        Step(
            "runs",
            ("t.n",),
            "t.first_job, t.last_job, d.id, j.id, t.rule, f.id, t.turn, t.key, t.value, "
            "t.at_once, t.on_busy, t.on_dead",
            FileLedger.run,
            f"LEFT JOIN deliveries d ON d.n = t.first_job >> {PLACE_BITS} "
            f"LEFT JOIN jobs j ON j.n = t.first_job {_FIRST.format('origin')}",
        ),
        Step(
            "rule_generations",
            ("CAST(rule AS BLOB)", "generation"),
            "NULL",
            lambda self, rule, generation, _: FileLedger.rule_generation(self, rule, generation),
        ),
        Step("published", ("seq",), "generation, by, at", FileLedger.in_force),
        Step(
            "rule_counts",
            ("CAST(rule AS BLOB)",),
            "evaluated, matched, errored, shadowed, counted_since, last_matched_at",
            FileLedger.rule_count,
        ),
        Step(
            "activity",
            ("span_s", "at", *[f"CAST({one} AS BLOB)" for one in ("kind", "name", "detail")]),
            "count, total, most",
            FileLedger.activity,
        ),
        Step("facts", ("CAST(name AS BLOB)",), "value, updated_at", FileLedger.fact),
        Step(
            "replays",
            ("n",),
            "id, asked, items, state, reached, due, deliveries, jobs, skipped, passed, earlier, "
            "created_at, ended_at",
            FileLedger.replay,
        ),
        Step("audit", ("n",), "id, at, who, peer, verb, asked, count, way", FileLedger.audit),
    )
}
"""In the order in which they are copied: what others belong to comes before them."""


def fingerprint(db: sqlite3.Connection) -> str:
    """Tells this ledger from others, and from itself when it has been served since."""
    hashed = blake2b(digest_size=12)
    for sql in (
        "SELECT n, CAST(id AS BLOB) FROM deliveries ORDER BY n LIMIT 1",
        "SELECT n, CAST(id AS BLOB) FROM deliveries ORDER BY n DESC LIMIT 1",
        "SELECT max(n) FROM jobs",
        "SELECT max(n) FROM audit",
        "SELECT max(n) FROM replays",
        "SELECT max(n) FROM generations",
        "SELECT max(seq) FROM published",
        "SELECT beat FROM pulse",
        f"SELECT value FROM facts WHERE name = '{CLOCK_SEEN}'",
    ):
        hashed.update(repr(db.execute(sql).fetchone()).encode())
    hashed.update(str(last_number(db)).encode())
    return hashed.hexdigest()


def _text(raw: bytes) -> str:
    return str(raw, "utf-8", "surrogateescape")


def _shown(place: list[Any]) -> str:
    shown = [str(v, "utf-8", "replace") if isinstance(v, bytes) else str(v) for v in place]
    return "/".join(shown)
