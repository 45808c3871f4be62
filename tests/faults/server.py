"""
The real router with a signal to itself at a named step; `steps` and `stopping` start it.

    python -m tests.faults.server [--die STEP NUMBER] [--record FILE] [--from accept] -- ... RULES

It is put together by the router's own wiring, around a store that names each step as it is reached:
before and after every verb of the store, and in the writer's thread before every kind of statement,
those that make a store included. Nothing of the router knows of it. Steps are counted from the
first delivery on, or from the start. The signal is SIGKILL, or what `--signal` says.
"""

import argparse
import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from router import log as logs
from router.actions.process_tree import adopt_orphans
from router.clock import steady
from router.metrics import Metrics
from router.store.sqlite import schema
from router.store.sqlite.store import open_store
from router.wiring import launch
from router.wiring.live import GenerationSource

VERBS = frozenset({"accept", "settle", "lease", "recover", "keep_generation", "results", "targets"})
STATEMENTS = {
    "BEGIN": "begin",
    "INSERT INTO keys": "keys",
    "INSERT INTO deliveries": "deliveries",
    "INSERT INTO jobs": "jobs",
    "INSERT INTO runs": "runs",
    "INSERT INTO attempts": "attempts",
    "UPDATE jobs": "change",
    "COMMIT": "commit",
}


SENT = "SENT"
"""What the log says when the signal was sent, and the monotonic second after it."""


class Steps:
    """Counts steps by name; the process gets its signal at the one it was told."""

    signal = signal.SIGKILL

    def __init__(self, die: tuple[str, int] | None, record: Path | None, armed: bool) -> None:
        self._die = die
        self._record = record
        self.armed = armed
        self._seen: Counter[str] = Counter()

    def reach(self, step: str) -> None:
        if not self.armed:
            return
        self._seen[step] += 1
        if self._record is not None:
            with self._record.open("a") as file:
                file.write(f"{step} {self._seen[step]}\n")
        if self._die == (step, self._seen[step]):
            os.write(2, f"{SENT} {time.monotonic()}\n".encode())
            os.kill(os.getpid(), self.signal)

    def statement(self, sql: str) -> None:
        """In the writer's thread, before each statement."""
        for begins, step in STATEMENTS.items():
            if sql.startswith(begins):
                self.reach(f"sql-{step}")


def watch_making(steps: Steps) -> None:
    """Each statement of the making of a store is a step, too."""
    make = schema.make

    def watched(db: sqlite3.Connection) -> None:
        db.set_trace_callback(lambda _: steps.reach("making"))
        make(db)
        db.set_trace_callback(None)

    schema.make = watched


class Watched:
    """A store, or its reading half, whose verbs are steps."""

    def __init__(self, store: Any, steps: Steps) -> None:
        self._store = store
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        if name == "reads":
            return Watched(self._store.reads, self._steps)
        found = getattr(self._store, name)
        step = name.removesuffix("_all")
        if step not in VERBS:
            return found

        async def asked(*args: Any, **named: Any) -> Any:
            self._steps.armed |= step == "accept"
            self._steps.reach(f"{step}-asked")
            answer = await found(*args, **named)
            self._steps.reach(f"{step}-done")
            return answer

        return asked


async def serve(rules: Path, steps: Steps) -> int:
    """As `router serve` does it, around the watched store."""
    clock = steady()
    options = launch.ServeOptions(rules)
    source = GenerationSource(rules, environ=os.environ, dev=False, overrides=options.overrides)
    live = source.build()
    metrics = Metrics()

    def committed(writes: int, seconds: float) -> None:
        steps.reach("committed")  # durable, and nobody has acted on it
        metrics.committed(writes, seconds)

    store = await open_store(str(live.ruleset.server.store), clock=clock, on_commit=committed)
    await store._writer.submit("work", lambda book: book.db.set_trace_callback(steps.statement))
    watched: Any = Watched(store, steps)
    try:
        return await launch._with_store(options, source, live, watched, clock, metrics)
    finally:
        await store.close()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--die", nargs=2, metavar=("STEP", "NUMBER"))
    parser.add_argument("--record", type=Path)
    parser.add_argument("--signal", choices=["SIGKILL", "SIGTERM"], default="SIGKILL")
    parser.add_argument("--from", dest="begin", choices=["accept", "start"], default="accept")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    die = (options.die[0], int(options.die[1])) if options.die else None
    os.umask(0o077)
    adopt_orphans()
    logs.configure(human=False, level="info")
    steps = Steps(die, options.record, options.begin == "start")
    steps.signal = signal.Signals[options.signal]
    watch_making(steps)
    with launch.leaving_at_once():
        return asyncio.run(serve(Path(options.command[-1]), steps))


if __name__ == "__main__":
    sys.exit(main())
