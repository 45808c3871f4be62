"""
The processes that a child has started, wherever they went.

On Linux each child inherits a number of its own: its soft limit of file locks, which the kernel
hands down and shows but has not enforced since 2.4. Everything by which a process leaves its
group, its session, its parent or its environment (setsid, a double fork, `env -i`, exec) leaves
that number as it is. Elsewhere only the process group is known.
"""

import asyncio
import contextlib
import itertools
import os
import re
import select
import signal
import time
from collections.abc import Iterator

try:
    import resource
except ImportError:  # no such limits on this system
    resource = None  # type: ignore[assignment]

_LOCKS = 10
"""RLIMIT_LOCKS on every Linux; the `resource` module has no name for it."""
_SET_CHILD_SUBREAPER = 36
_SHOWN = re.compile(rb"^Max file locks +(\d+|unlimited) ", re.MULTILINE)
_LINUX = os.path.exists("/proc/self/limits") and hasattr(os, "pidfd_open")  # noqa: PTH110

_TURN_S = 0.002
"""How long the processes of the machine are gone through before the loop's others have a turn."""
_ROUNDS = 20
"""How often those that have begun meanwhile are looked at before it stays uncertain."""

_FIRST = (1 << 61) | (int.from_bytes(os.urandom(3), "big") << 32)
"""Two routers on one machine count from different places."""
_marks = itertools.count(_FIRST)
_leaders: set[int] = set()
"""Children that somebody here waits for; whoever else carries a mark of ours was adopted."""
_free_at = 0.0
"""By the monotonic clock: until then it is the others' turn, however many children end at once."""


class Descent:
    """The mark of one child and of everything that comes from it."""

    def __init__(self) -> None:
        self._mark: int | None = None
        self.leader = 0

    @contextlib.contextmanager
    def inherited(self) -> Iterator[None]:
        """A process started here, in this thread, carries the mark from its first moment."""
        before = None
        mark = next(_marks)
        if _LINUX:
            with contextlib.suppress(ValueError, OSError):  # a system that forbids it
                before = resource.getrlimit(_LOCKS)
                resource.setrlimit(_LOCKS, (mark, before[1]))
                self._mark = mark
        try:
            yield
        finally:
            if before is not None and self._mark is not None:
                resource.setrlimit(_LOCKS, before)

    def began(self, leader: int) -> None:
        """The child itself, which is never reaped here."""
        self.leader = leader
        _leaders.add(leader)

    def ended(self) -> None:
        """The child has been reaped."""
        _leaders.discard(self.leader)

    def kill(self) -> Iterator[int]:
        """SIGKILL to everything but the child itself; how many so far, 0 at the end when sure."""
        if self._mark is None:
            return
        found, met = 0, {self.leader}
        for _ in range(_ROUNDS):
            pids: list[int] = []
            for pid in _pids():
                if pid not in met:
                    pids.append(pid)
                yield found
            if not pids:  # each that there is has been looked at, and none began meanwhile
                return
            for pid in sorted(pids, reverse=True):  # what is about to fork again while it lives
                found += self._killed(pid)
                yield found
            met.update(pids)
        yield found + 1

    def _killed(self, pid: int) -> bool:
        """End a process if it is ours; one that has ended but was adopted by us is reaped."""
        if mark_of(pid) != self._mark:
            return False
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's by now
            held = os.pidfd_open(pid)
            try:
                # All its threads have ended: where only the first has, it looks like a zombie.
                poll = select.poll()
                poll.register(held, select.POLLIN)
                if poll.poll(0):
                    _reap(pid)
                    return False
                if mark_of(pid) == self._mark:  # the number is still the same process's
                    signal.pidfd_send_signal(held, signal.SIGKILL)
            finally:
                os.close(held)
        return True


def in_turns(steps: Iterator[int]) -> "asyncio.Future[int]":
    """
    Take the steps, 2 ms of them in a turn of the loop and at most half of its time; the last value.

    Nothing stops them: whoever waits may go.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[int] = loop.create_future()
    value = 0

    def turn() -> None:
        global _free_at  # noqa: PLW0603 - one for all children, as the loop is
        nonlocal value
        began = time.monotonic()
        if began < _free_at:
            loop.call_later(_free_at - began, turn)
            return
        try:
            for value in steps:  # noqa: B007 - the last one is what was wanted
                if time.monotonic() - began > _TURN_S:
                    loop.call_soon(turn)
                    return
            if not done.cancelled():
                done.set_result(value)
        except OSError as error:  # no descriptor left to look by
            if not done.cancelled():
                done.set_exception(error)
        finally:
            _free_at = 2 * time.monotonic() - began

    turn()
    return done


def adopt_orphans() -> None:
    """
    Become the parent of every orphan below this process, on Linux.

    The first process of many a container reaps no orphan: what a command left behind would stay in
    the process table for ever.
    """
    if _LINUX:
        import ctypes  # noqa: PLC0415 - only a server needs it

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_adopted() -> Iterator[int]:
    """Reap children that this process got from its children, never one that is waited for."""
    if not _LINUX:
        return
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in _leaders or (mark_of(ended.si_pid) or 0) < _FIRST:
                return
            _reap(ended.si_pid)
            yield ended.si_pid


def mark_of(pid: int) -> int | None:
    """The number that a process carries, None if it is not there."""
    try:
        return resource.prlimit(pid, _LOCKS)[0]
    except ProcessLookupError:
        return None
    except OSError:  # another user's: only to be read
        return _mark_read(pid)


def _mark_read(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/limits", "rb", buffering=0) as file:  # noqa: PTH123 - hot
            found = _SHOWN.search(file.read(4096))
    except OSError:
        return None
    if found is None:
        return None
    return resource.RLIM_INFINITY if found[1] == b"unlimited" else int(found[1])


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _pids() -> Iterator[int]:
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                yield int(entry.name)
