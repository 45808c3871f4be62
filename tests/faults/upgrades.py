"""
A migration that is killed at every statement leaves the old schema or the new one.

    python -m tests.faults.upgrades                       every statement of every migration
    python -m tests.faults.upgrades --kills 200           and so many at random moments

For each migration a store of the version before it is filled, then brought up by a process that
dies before one of its statements. The next start must find one whole version or the other, finish
the rest and hold every row. At random moments: the whole way from the first version, killed by the
clock. A router that knows fewer migrations than the store has must refuse it and change nothing.
"""

import argparse
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from router.errors import StoreRefused
from router.store.sqlite import schema
from tests import ledger
from tests.faults.life import chosen
from tests.faults.telling import reported, say, verdict

ROOT = Path(__file__).parents[2]
ROWS = 400
DELIVERY = "INSERT INTO deliveries VALUES (?, ?, 'code', 0, 1, 1, '', x'90', x'90', zeroblob(900))"
JOB = (
    "INSERT INTO jobs (n, id, state, due_at, target, rule, action, kind, event_index, event_id, "
    "event, created_at, generation, attempt) "
    "VALUES (?, ?, ?, 1, 't', 'r', 'a', 0, 0, 'e', 'p', 1, 1, 0)"
)


@dataclass
class Tally:
    kills: int = 0
    finished: int = 0
    old: int = 0
    new: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.finished} came too late): {self.old} left the version "
            f"before, {self.new} the one after; {len(self.problems)} problems"
        )


def filled(path: Path, version: int) -> Path:
    """A store of an older version with rows in it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = wal")
        schema.migrate(db, schema.MIGRATIONS[:version])
        db.execute("BEGIN")
        db.execute("INSERT INTO generations (n, id, created_at) VALUES (1, 'g', 1)")
        for n in range(1, ROWS + 1):
            db.execute(DELIVERY, (n, f"dlv_{n}"))
            db.execute(JOB, (n << 20, f"job_{n}", n % 3))
        db.execute("COMMIT")
    return path


def migrate_and_die(path: Path, at: int) -> None:
    """In a process of its own: bring the store up, die before statement `at`."""
    seen = 0

    def before(_: str) -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            signal.raise_signal(signal.SIGKILL)

    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = 2")
        db.set_trace_callback(before)
        schema.migrate(db)


def child(path: Path, at: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.faults.upgrades", "--die", str(path), str(at)]
    return subprocess.Popen(command, cwd=ROOT)


def version(path: Path) -> int:
    with closing(ledger.connect(path, mend=True)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def judged(path: Path, before: int, where: str, tally: Tally) -> None:
    """One whole version, then the newest, with every row."""
    found = version(path)
    tally.old += found == before
    tally.new += found != before
    with closing(ledger.connect(path, mend=True)) as db:
        problems = ledger.corruption(db)
        tables = shape(db)
    if tables != expected(found):
        problems.append(f"the tables are not those of version {found}")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.migrate(db)
        rows = db.execute("SELECT (SELECT count(*) FROM deliveries), count(*) FROM jobs").fetchone()
    if (version(path), rows) != (len(schema.MIGRATIONS), (ROWS, ROWS)):
        problems.append(f"afterwards version {version(path)}, rows {rows}")
    tally.problems += [f"{where}: {p}" for p in problems]


def shape(db: sqlite3.Connection) -> list[tuple[str, str]]:
    return db.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def expected(number: int) -> list[tuple[str, str]]:
    """The tables that a version has."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        schema.migrate(db, schema.MIGRATIONS[:number])
        return shape(db)


def at_statement(folder: Path, before: int, at: int, tally: Tally) -> bool:
    """Die there; False: the migration has no such statement any more."""
    path = filled(folder / f"{before}-{at}.db", before)
    process = child(path, at)
    killed = process.wait(30) == -signal.SIGKILL
    tally.kills += 1
    tally.finished += not killed
    judged(path, before, f"from version {before}, statement {at}", tally)
    path.unlink()
    return killed


def at_random(folder: Path, number: int, rng: random.Random, tally: Tally) -> None:
    path = filled(folder / f"random-{number}.db", 1)
    process = child(path, 0)
    time.sleep(rng.uniform(0.08, 0.35))
    process.kill()
    tally.kills += 1
    tally.finished += process.wait(30) == 0
    judged(path, 1, f"random kill {number}", tally)
    path.unlink()


def newer_is_refused(folder: Path) -> list[str]:
    """By a router that knows one migration less; nothing changes."""
    path = filled(folder / "newer.db", len(schema.MIGRATIONS))
    before = path.read_bytes()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        try:
            schema.migrate(db, schema.MIGRATIONS[:-1])
        except StoreRefused as error:
            found = [] if "newer router" in str(error) else [f"says {error}"]
        else:
            found = ["an older router takes a newer store"]
    return found if path.read_bytes() == before else [*found, "an older router changed it"]


def steps() -> Sequence[tuple[int, int]]:
    """Each version to begin from, and each statement until the newest."""
    found = []
    for before in range(1, len(schema.MIGRATIONS)):
        found += [(before, at) for at in steps_from(before)]
    return found


def steps_from(before: int) -> range:
    """Each statement from this version on until the newest."""
    rest = schema.MIGRATIONS[before:]
    # BEGIN, the script, two pragmas and COMMIT; before them two pragmas and a count.
    return range(1, 4 + sum(4 + len(list(schema.statements(one))) for one in rest))


def campaign(folder: Path, count: int | None, kills: int, rng: random.Random) -> Tally:
    tally = Tally()
    every = chosen(steps(), count)
    for before, at in reported(every, "statements"):
        at_statement(folder, before, at, tally)
    for number in reported(range(kills), "random kills"):
        at_random(folder, number, rng, tally)
    tally.problems += newer_is_refused(folder)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, help="statements, spread evenly; all if not said")
    parser.add_argument("--kills", type=int, default=200, help="kills at random moments")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--die", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.die:
        migrate_and_die(Path(options.die[0]), int(options.die[1]))
        return 0
    say(f"seed {options.seed}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        tally = campaign(Path(name), options.count, options.kills, random.Random(options.seed))
    return verdict(tally.problems, f"{tally}; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
