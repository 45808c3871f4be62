"""How far a listener has come: one small file that one listener at a time may lock."""

import fcntl
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import click
import msgspec

from router.errors import UsageError, os_errors_refused

SIZE = 1_024
"""The file is one record of this size, written over itself: a kill leaves the old or the new."""


class CheckpointRecord(msgspec.Struct, frozen=True):
    """
    What the file holds: the position after the last delivery that was dealt with, and its id.

    `server` and `store` say whose position it is; `pid` who has the file locked, or had it last.
    """

    server: str
    store: str
    cursor: str | None = None
    delivery: str | None = None
    at: int = 0
    pid: int = 0


class Checkpoint:
    """
    A file, 0600, that is locked while this is open. A context manager.

    Raises:
        click.ClickException: another listener has it.
        UsageError: it is damaged or of another store.
    """

    def __init__(self, path: Path, *, server: str, store: str) -> None:
        self.path = path
        with os_errors_refused(f"cannot keep a checkpoint in {path}"):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.fchmod(self._file, 0o600)
        try:
            self._lock()
            self._kept = self._read(CheckpointRecord(server, store))
            if self._kept.store != store:
                raise UsageError(
                    f"{path} is the checkpoint of another router ({self._kept.server}, store "
                    f"{self._kept.store}); name another file, or remove it to start again"
                )
            self._kept = msgspec.structs.replace(self._kept, server=server, pid=os.getpid())
            self._write()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    @property
    def cursor(self) -> str | None:
        """Where to continue; None: this is the first start."""
        return self._kept.cursor

    @property
    def delivery(self) -> str | None:
        """The last delivery that was dealt with."""
        return self._kept.delivery

    def advance(self, cursor: str, *, at: int, delivery: str | None = None) -> None:
        """Everything before `cursor` is dealt with. A kill right after this forgets nothing."""
        if cursor == self._kept.cursor:
            return
        self._kept = msgspec.structs.replace(
            self._kept, cursor=cursor, delivery=delivery or self._kept.delivery, at=at
        )
        self._write()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            try:
                holder = f"process {self._read(CheckpointRecord('', '')).pid}"
            except UsageError:
                holder = "another process"
            raise click.ClickException(
                f"another `router listen` ({holder}) uses the checkpoint {self.path}: end it, or "
                "give this one its own with --checkpoint FILE"
            ) from None

    def _read(self, absent: CheckpointRecord) -> CheckpointRecord:
        data = os.pread(self._file, SIZE, 0).strip()
        if not data:
            return absent
        try:
            return msgspec.json.decode(data, type=CheckpointRecord)
        except msgspec.DecodeError:
            raise UsageError(
                f"the checkpoint {self.path} is damaged; remove it and start with --since TIME"
            ) from None

    def _write(self) -> None:
        data = msgspec.json.encode(self._kept)
        if len(data) >= SIZE:
            raise UsageError("the server's address or the store's path is too long to be kept")
        os.pwrite(self._file, data.ljust(SIZE - 1) + b"\n", 0)


def path_for(environ: Mapping[str, str], *what: str) -> Path:
    """
    Where the checkpoint of this server, filter and target lies when none is named.

    Raises:
        UsageError: there is no home folder, or it cannot be written.
    """
    state = environ.get("XDG_STATE_HOME") or ""
    if not state.startswith("/"):  # a relative one is to be ignored, the convention says
        home = environ.get("HOME")
        if not home:
            raise UsageError("there is no HOME to keep the checkpoint in; name a --checkpoint FILE")
        state = f"{home}/.local/state"
    folder = Path(state) / "router" / "listen"
    with os_errors_refused(f"cannot make {folder}", "; name a --checkpoint FILE"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = hashlib.sha256("\0".join(what).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return folder / f"{name}.json"
