"""
One server for all processes of a test run, gone when the last of them has ended.

Who uses it holds a shared lock on a file in its folder; the system takes that lock back even from
a process that is killed. The keeper waits for an exclusive one and then ends the server.
"""

import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.postgres.server import HURRIED, Server, new_place, set_up

ROOT = Path(__file__).parents[2]


@contextmanager
def shared_server(run: Path, binaries: Path) -> Iterator[Server]:
    """The server of this run, whose folder for temporary files is named; started by the first."""
    with (run / "postgres.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        server, using = _joined(run) or _started(run, binaries)
    with using:
        try:
            yield server
        finally:
            _end_if_last(server, using)


@contextmanager
def private_server(binaries: Path, settings: Mapping[str, str] = HURRIED) -> Iterator[Server]:
    """One of the caller's own, to be stopped and started again as it likes."""
    with private_place(binaries) as place:
        yield set_up(place, settings)


@contextmanager
def private_place(binaries: Path) -> Iterator[Server]:
    """A place for one, which is ended with what runs there."""
    place = new_place(binaries)
    with _kept(place):
        try:
            yield place
        finally:
            place.end()


def _joined(run: Path) -> tuple[Server, IO[str]] | None:
    """The server that runs already, unless its end has begun."""
    try:
        found = json.loads((run / "postgres.json").read_text("utf-8"))
        server = Server(Path(found["binaries"]), Path(found["folder"]), found["port"])
        using = _users(server).open()
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(using, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        using.close()
        return None
    return server, using


def _started(run: Path, binaries: Path) -> tuple[Server, IO[str]]:
    place = new_place(binaries)
    using = _kept(place)
    server = set_up(place)
    (run / "postgres.json").write_text(
        json.dumps(
            {"binaries": str(server.binaries), "folder": str(server.folder), "port": server.port}
        ),
        encoding="utf-8",
    )
    return server, using


def _kept(server: Server) -> IO[str]:
    """In use by this process, until the file is closed; then the keeper ends it."""
    _users(server).touch()
    using = _users(server).open()
    fcntl.flock(using, fcntl.LOCK_SH)
    words = [sys.executable, "-m", "tests.postgres.keeper", server.binaries, server.folder]
    subprocess.run(words, cwd=ROOT, check=True)
    return using


def _end_if_last(server: Server, using: IO[str]) -> None:
    """At once, rather than when the keeper gets its turn."""
    try:
        fcntl.flock(using, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # others use it, or the keeper was quicker
    server.end()


def _users(server: Server) -> Path:
    return server.folder / "users"
