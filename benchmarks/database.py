"""A PostgreSQL server beside the routers that share it: what it takes, and what it holds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench import SETTLE_S, STILL_S, WrongFigures
from benchmarks.cost import TICKS
from router.store.common.states import STATE
from tests.ledger import Counts
from tests.postgres.binaries import installed
from tests.postgres.server import USER, Server
from tests.postgres.sharing import private_server

SETTINGS = {"fsync": "on", "synchronous_commit": "on", "shared_buffers": "128MB"}
"""PostgreSQL's own, but for what tests of other things hurry."""
_COUNTS = (
    "SELECT (SELECT count(*) FROM deliveries), (SELECT count(*) FROM jobs), "  # noqa: S608 - ours
    f"(SELECT count(*) FROM jobs WHERE state = {STATE['succeeded']}), "
    "(SELECT count(*) FROM attempts)"
)


class Taken(NamedTuple):
    """By the server and all its processes, the system's work for them included."""

    processor_s: float
    wal_bytes: int

    def since(self, before: "Taken") -> "Taken":
        return Taken(
            self.processor_s - before.processor_s,
            self.wal_bytes - before.wal_bytes,
        )


@contextmanager
def database() -> Iterator[Server | None]:
    """A server of our own, which syncs every commit; None: there is none here."""
    binaries = next(installed(), None)
    if binaries is None:
        yield None
        return
    with private_server(binaries, SETTINGS) as server:
        yield server


def taken(server: Server) -> Taken:
    """So far."""
    wal = server.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    return Taken(processor_s(server), int(wal))


def processor_s(server: Server) -> float:
    """Its own processes', those that have ended among them."""
    postmaster = server.pid
    seconds = 0.0
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text("ascii").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # this process has just ended
        if int(place.parent.name) == postmaster:
            seconds += sum(map(int, fields[11:15]))  # with its children that have ended
        elif int(fields[1]) == postmaster:
            seconds += sum(map(int, fields[11:13]))
    return seconds / TICKS


def counts(server: Server) -> Counts:
    return Counts(*map(int, server.execute(_COUNTS, database=USER).split("|")))


def drain(server: Server) -> float:
    """
    Wait until no job is open and none comes; when that began, in monotonic time.

    Raises:
        WrongFigures: that took too long.
    """
    since = time.monotonic()
    deadline = since + SETTLE_S
    while time.monotonic() - since < STILL_S:
        if time.monotonic() > deadline:
            raise WrongFigures("jobs are left in the database")
        if server.execute("SELECT EXISTS (SELECT FROM queue)", database=USER) == "t":
            since = time.monotonic()
        time.sleep(STILL_S / 10)
    return since
