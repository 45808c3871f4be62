"""One PostgreSQL server in a folder of its own, under a user who is not root."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.acceptance.process import free_ports
from tests.postgres.binaries import runnable, unprivileged

USER = "router"
SMALL = {
    "max_connections": "100",
    "shared_buffers": "16MB",
    "timezone": "UTC",
    "jit": "off",
}
HURRIED = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",  # it would hold a lock now and then that a test does not expect
}
"""For tests of what is said, not of what outlives a power cut."""


@dataclass(frozen=True)
class Server:
    """It listens on a socket in `folder`, and on 127.0.0.1, both at `port`; any password fits."""

    binaries: Path
    folder: Path
    port: int

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def pid(self) -> int | None:
        """The postmaster's, while it runs."""
        try:
            return int((self.data / "postmaster.pid").read_text("ascii").split("\n")[0])
        except FileNotFoundError:
            return None

    def address(self, database: str = USER, *, tcp: bool = False, user: str = USER) -> str:
        if tcp:
            return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def start(self) -> None:
        """Returns when it takes connections. An error tells the end of its log."""
        log = self.folder / "log"
        done = self._run("pg_ctl", "start", "-w", "-s", "-D", self.data, "-l", log)
        if done.returncode:
            raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text('utf-8')[-2000:]}")

    def stop(self, how: Literal["fast", "immediate"] = "immediate") -> None:
        """Returns when it is gone; `immediate` is what a crash leaves."""
        self._run("pg_ctl", "stop", "-w", "-s", "-D", self.data, "-m", how)

    def promote(self) -> None:
        """Of a standby: returns when it takes what is to be written."""
        if self._run("pg_ctl", "promote", "-w", "-s", "-D", self.data).returncode:
            raise RuntimeError(f"PostgreSQL was not promoted:\n{self._said()}")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """The postmaster alone; its processes end when they notice."""
        if self.pid is not None:
            os.kill(self.pid, how)

    def end(self) -> None:
        """Nothing runs, nothing is left."""
        if self.pid is not None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def execute(self, *statements: str, database: str = "postgres") -> str:
        """As its superuser, each in a transaction of its own; what the last printed."""
        commands = [word for one in statements for word in ("-c", one)]
        address = self.address(database, user="postgres")
        done = self._run(
            "psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", *commands, address
        )
        if done.returncode:
            raise RuntimeError(f"PostgreSQL refused {statements}:\n{self._said()}")
        return self._said().strip()

    def dump(self, database: str, *how: str) -> str:
        """All that a database holds, as text."""
        if self._run("pg_dump", *how, self.address(database, user="postgres")).returncode:
            raise RuntimeError(f"pg_dump failed:\n{self._said()}")
        return self._said()

    def restore(self, database: str, dump: str) -> None:
        """What `dump` gave, into a database in which nothing is; the role `router` owns it."""
        script = self.folder / "restored.sql"
        script.write_text(dump, "utf-8")
        quiet = ("-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", script)
        if self._run("psql", *quiet, self.address(database)).returncode:
            raise RuntimeError(f"PostgreSQL did not take the dump:\n{self._said()}")

    def _said(self) -> str:
        return (self.folder / "said").read_text("utf-8")

    def _run(self, program: str, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
        """What it prints goes to a file: the server that it starts would keep a pipe open."""
        with (self.folder / "said").open("wb") as said:
            return subprocess.run(
                [self.binaries / program, *words],
                cwd=self.folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                check=False,
                **unprivileged(),
            )


def new_place(binaries: Path) -> Server:
    """A folder for a server that is not yet set up."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=_short_folder()))
    user = unprivileged()
    if user:
        os.chown(folder, user["user"], user["group"])
    return Server(runnable(binaries, folder), folder, 0)


def set_up(place: Server, settings: Mapping[str, str] = HURRIED) -> Server:
    """It runs, with the role and the database `router`."""
    done = place._run("initdb", *_INITDB, "-D", place.data)
    if done.returncode:
        raise RuntimeError(f"initdb failed:\n{place._said()}")
    server = _on_a_free_port(place, {**SMALL, **settings})
    server.execute(f"CREATE ROLE {USER} LOGIN", f"CREATE DATABASE {USER} OWNER {USER}")
    return server


def copy_of(primary: Server, place: Server, port: int, settings: Mapping[str, str]) -> Server:
    """
    A standby of it that runs in this place and follows it by this port of 127.0.0.1; whatever was
    there before is gone.
    """
    shutil.rmtree(place.data, ignore_errors=True)
    words = ("-D", place.data, "-d", primary.address("postgres", user="postgres"))
    if place._run("pg_basebackup", *_COPY, *words).returncode:
        raise RuntimeError(f"pg_basebackup failed:\n{place._said()}")
    source = f"host=127.0.0.1 port={port} user=postgres"
    return _on_a_free_port(place, {**SMALL, **settings, "primary_conninfo": source})


_COPY = ("--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
_INITDB = (
    *("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"),
    *("--no-sync", "--no-instructions"),
)


def _on_a_free_port(place: Server, settings: Mapping[str, str]) -> Server:
    """Another process may take a port that was free a moment ago: then another one."""
    *others, last = free_ports(5)
    for port in others:
        with suppress(RuntimeError):
            return _on_port(place, settings, port)
    return _on_port(place, settings, last)


def _on_port(place: Server, settings: Mapping[str, str], port: int) -> Server:
    server = Server(place.binaries, place.folder, port)
    places = {
        "port": str(port),
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": str(place.folder),
    }
    lines = [f"{name} = '{value}'\n" for name, value in {**settings, **places}.items()]
    (place.data / "postgresql.auto.conf").write_text("".join(lines), encoding="utf-8")
    server.start()
    return server


def _short_folder() -> Path:
    """A socket's path has about a hundred characters, and our user must come by."""
    usual = Path(tempfile.gettempdir()).resolve()
    open_to_all = all(one.stat().st_mode & 0o001 for one in (usual, *usual.parents))
    return usual if open_to_all and len(str(usual)) < 60 else Path("/tmp")  # noqa: S108 - made by mkdtemp


def _environment() -> dict[str, str]:
    """Ours without what would lead its programs to another server."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_"))} | {
        "LC_ALL": "C"
    }
