"""What the writer's thread holds: the connection, and the little it remembers between batches."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from router.clock import Clock
from router.store.sqlite.delivery_cache import DeliveryCache

ROWS = 64
"""Rows to a statement: enough to make steps rare, few enough to keep every size prepared."""

LAST_DELIVERY_STEP = 4096
"""A generation's last delivery is written this many numbers ahead, so once in as many."""

LAST_DELIVERY = "ledger/last_delivery"
"""The fact that keeps the last number given, when the delivery that had it may be gone."""

Row = Sequence[Any]


class Book:
    """
    The store as its writer sees it. Used by one thread.

    Everything remembered here can be found again in the file. `later` are changes to it that
    count only once the transaction has committed, `undo` what to do if it does not.
    """

    def __init__(self, db: sqlite3.Connection, path: Path, clock: Clock) -> None:
        self.db = db
        self.path = path
        self.clock = clock
        self.later: list[Callable[[], object]] = []
        self.undo: list[Callable[[], object]] = []
        self.live: set[int] = set()  # generations kept by this process: never removed by it
        self.running: dict[str, int] = {}  # job id -> number, of jobs this process has begun
        self.linked: dict[int, int] = {}  # number -> run, of those whose end matters to others
        self.copies: dict[str, tuple[int, int]] = {}  # delivery id -> count, last seen: unwritten
        self.deliveries = DeliveryCache()
        self.unsure: list[Callable[[], object]] = []  # what only the file tells: see `commit`
        self.broken = False  # a sync failed: nothing is written any more
        self.pages = 0  # written since the last checkpoint, estimated
        self.stale_journal = False  # it holds pages whose former content must not stay
        self.wants_empty = False  # somebody waits for that to be over
        self.wants_vacuum = False  # the file is to be written anew, outside any transaction
        self.vacuumed: str | None = None  # why the last time failed; None: it did not
        self._stale = False  # whether the last transaction committed is not known
        self._read()

    def _read(self) -> None:
        """What is remembered of the file, from the file."""
        db = self.db
        self.next_delivery = 1 + last_number(db)
        self.next_run = 1 + _first(db, "SELECT max(n) FROM runs")
        self.replays = bool(_first(db, "SELECT max(n) FROM replays"))  # whether there were any
        self._generations: dict[str, int] = dict(db.execute("SELECT id, n FROM generations"))
        self._generation_ids = {n: id_ for id_, n in self._generations.items()}
        self._spans: dict[int, tuple[int, int]] = {}
        self._rules: set[tuple[str, int]] = set()
        # Whoever is not found here is looked up in the file, once each.
        self.running.clear()
        self.linked.clear()

    def wall(self, at: int) -> int:
        """A ledger time as it is recorded."""
        return at + self.clock.offset

    def begin(self) -> None:
        """Open a transaction; after one of which nobody knows its end, read everything anew."""
        self.db.execute("BEGIN IMMEDIATE")
        if self._stale:
            self._read()
            for check in self.unsure:
                check()
            self.unsure.clear()
            self._stale = False

    def commit(self) -> None:
        """
        Commit. Should that raise, it may have committed all the same: then `begin` reads what is
        remembered from the file, and runs the checks in `unsure`.
        """
        self._stale = True
        self.db.execute("COMMIT")
        self._stale = False
        self.committed()

    def committed(self) -> None:
        """What was written is durable."""
        for change in self.later:
            change()
        self.later.clear()
        self.undo.clear()
        self.unsure.clear()

    def mark(self) -> tuple[int, int, int]:
        """A point to `unwind` to."""
        return len(self.later), len(self.undo), len(self.unsure)

    def unwind(self, mark: tuple[int, int, int] = (0, 0, 0)) -> None:
        """What was written since `mark` was rolled back."""
        for undo in reversed(self.undo[mark[1] :]):
            undo()
        del self.later[mark[0] :], self.undo[mark[1] :]
        if not self._stale:
            del self.unsure[mark[2] :]

    def numbering(self) -> None:
        """Numbers of deliveries are about to be given: one that is not written is given again."""
        first = self.next_delivery
        self.undo.append(lambda: setattr(self, "next_delivery", first))

    def removed_deliveries(self, now: int) -> None:
        """Deliveries are about to be removed: their numbers are not given again, ever."""
        self.db.execute(
            "INSERT INTO facts VALUES (?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (LAST_DELIVERY, b"%d" % (self.next_delivery - 1), now),
        )

    def insert(self, table: str, rows: Sequence[Row], conflict: str = "", values: Row = ()) -> int:
        """
        Insert rows, many to a statement; returns how many were written. The `values` are those
        of `conflict`: what changes must not be part of a statement that stays prepared.
        """
        written = 0
        for start in range(0, len(rows), ROWS):
            chunk = rows[start : start + ROWS]
            written += self.db.execute(
                _insertion(table, len(chunk), len(chunk[0]), conflict),
                [*chain.from_iterable(chunk), *values],
            ).rowcount
        return written

    def one(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The single value a statement yields."""
        row = self.db.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def generation(self, id_: str) -> int:
        """The number of a generation, noted in the file when it is new."""
        if (number := self._generations.get(id_)) is None:
            number = 1 + _first(self.db, "SELECT max(n) FROM generations")
            self.db.execute(
                "INSERT INTO generations (n, id, created_at) VALUES (?, ?, ?)",
                (number, id_, self.clock.now()),
            )
            self._generations[id_] = number
            self._generation_ids[number] = id_
            self.undo.append(lambda: self._generations.pop(id_, None))
            self.undo.append(lambda: self._generation_ids.pop(number, None))
        return number

    def generation_id(self, number: int) -> str | None:
        """The id of a generation."""
        return self._generation_ids.get(number)

    def forget_generations(self, numbers: Iterable[int]) -> None:
        """These were removed: drop what is remembered of them, once that has committed."""
        gone = set(numbers)

        def forget() -> None:
            self._generations = {i: n for i, n in self._generations.items() if n not in gone}
            self._rules = {pair for pair in self._rules if pair[1] not in gone}
            for number in gone:
                self._spans.pop(number, None)
                self._generation_ids.pop(number, None)

        self.later.append(forget)

    def named(self, generation: int, first: int, last: int) -> None:
        """Deliveries `first` to `last` name this generation: it must be kept with them."""
        low, high = self._spans.get(generation) or self._span(generation)
        if low <= first and last <= high:
            return
        low = min(low, first)
        high = high if last <= high else last + LAST_DELIVERY_STEP
        self.db.execute(
            "UPDATE generations SET first_delivery = ?, last_delivery = ? WHERE n = ?",
            (low, high, generation),
        )
        self._spans[generation] = (low, high)
        self.undo.append(lambda: self._spans.pop(generation, None))

    def _span(self, generation: int) -> tuple[int, int]:
        """From the file; remembered as long as this transaction is not rolled back."""
        span = "SELECT first_delivery, last_delivery FROM generations WHERE n = ?"
        low, high = self.db.execute(span, (generation,)).fetchone()
        self._spans[generation] = (low, high)
        self.undo.append(lambda: self._spans.pop(generation, None))
        return low, high

    def ruled(self, pairs: set[tuple[str, int]]) -> None:
        """Jobs of these rules name these generations."""
        if new := pairs - self._rules:
            self.db.executemany("INSERT OR IGNORE INTO rule_generations VALUES (?, ?)", list(new))
            self._rules |= new
            self.undo.append(lambda: self._rules.difference_update(new))


@lru_cache(maxsize=1024)
def _insertion(table: str, rows: int, columns: int, conflict: str) -> str:
    return f"INSERT INTO {table} {marks(rows, columns)} {conflict}"


@lru_cache(maxsize=1024)
def marks(rows: int, columns: int) -> str:
    """`VALUES (?,?),(?,?)…`."""
    row = f"({','.join('?' * columns)})"
    return f"VALUES {','.join([row] * rows)}"


def _first(db: sqlite3.Connection, sql: str) -> int:
    return int(db.execute(sql).fetchone()[0] or 0)


def last_number(db: sqlite3.Connection) -> int:
    """The last number that a delivery was given, be it kept or removed."""
    kept = _first(db, "SELECT max(n) FROM deliveries")
    row = db.execute("SELECT value FROM facts WHERE name = ?", (LAST_DELIVERY,)).fetchone()
    return kept if row is None else max(kept, int(row[0]))
