"""Which jobs leased ahead have begun: told to the next process without a commit."""

import os
import struct
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import NamedTuple

from router.model.job import Job
from router.store.values import node_of

PLACES = 1024
"""More than can run and be unwritten at once: of few slots, some for each are leased ahead."""
_NAME_BYTES = 40
_ENTRY = struct.Struct(f"<{_NAME_BYTES}sqq")
TABLE_BYTES = PLACES * _ENTRY.size


class BeginMark(NamedTuple):
    """That this attempt of a job began, and when (wall time)."""

    job: str
    attempt: int
    at: int


class _Placed(NamedTuple):
    """A mark at its place of the table; `lease`: of this process's own, else None."""

    place: int
    mark: BeginMark
    lease: str | None


class BeginMarks:
    """
    A table of a file, from `offset` on, that outlives the process but is never synced: a power cut
    may lose it. One that is left of a job that has ended says nothing: no attempt comes twice.

    `descriptor` is asked each time, as the file may be another one by now; None: in memory alone.
    """

    def __init__(self, descriptor: Callable[[], int] | None, offset: int) -> None:
        self._descriptor, self._offset = descriptor, offset
        self._kept: dict[str, _Placed] = {}
        text = b"" if descriptor is None else os.pread(descriptor(), TABLE_BYTES, offset)
        for place in range(len(text) // _ENTRY.size):
            name, attempt, at = _ENTRY.unpack_from(text, place * _ENTRY.size)
            if attempt:
                job = name.rstrip(b"\0").decode("ascii", "replace")
                self._kept[job] = _Placed(place, BeginMark(job, attempt, at), None)
        taken = {kept.place for kept in self._kept.values()}
        self._free = [place for place in reversed(range(PLACES)) if place not in taken]

    def __bool__(self) -> bool:
        return bool(self._kept)

    def put(self, job: Job) -> bool:
        """A leased job begins now, at its `started_at`; False: there is no place to say so."""
        name, at = job.id.encode("ascii", "replace"), job.started_at
        kept = self._kept.get(job.id)
        if at is None or len(name) > _NAME_BYTES or not (kept or self._free):
            return False
        place = kept.place if kept else self._free.pop()
        self._kept[job.id] = _Placed(place, BeginMark(job.id, job.attempt, at), job.lease or "")
        try:
            self._write(place, _ENTRY.pack(name, job.attempt, at))
        except OSError:  # no room on the disk: whoever asked does not begin it
            self._forget(job.id)
            return False
        return True

    def ended(self, jobs: Iterable[str]) -> None:
        """The ends of these jobs are durable: their places are free."""
        for job in jobs:
            if job in self._kept:
                self._forget(job)

    def recovered(self, nodes: Collection[str]) -> None:
        """What these nodes left is reclaimed, and so is all that was found in the table."""
        for job, (_, _, lease) in tuple(self._kept.items()):
            if lease is None or node_of(lease) in nodes:
                self._forget(job)

    def all(self) -> tuple[BeginMark, ...]:
        """Every mark."""
        return tuple(kept.mark for kept in self._kept.values())

    def _forget(self, job: str) -> None:
        place = self._kept.pop(job).place
        self._free.append(place)
        with suppress(OSError):  # a mark that stays says nothing of any other attempt
            self._write(place, bytes(_ENTRY.size))

    def _write(self, place: int, entry: bytes) -> None:
        if self._descriptor is not None:
            os.pwrite(self._descriptor(), entry, self._offset + place * _ENTRY.size)
