"""
The processes that a child has started, wherever they went.

On Linux each child inherits a number of its own: its soft limit of file locks, which the kernel
hands down and shows but has not enforced since 2.4. Everything by which a process leaves its
group, its session, its parent or its environment (setsid, a double fork, `env -i`, exec) leaves
that number as it is. Elsewhere only the process group is known.
"""

import contextlib
import itertools
import os
import re
import signal
from collections.abc import Iterator

try:
    import resource
except ImportError:  # no such limits on this system
    resource = None  # type: ignore[assignment]

_LOCKS = 10
"""RLIMIT_LOCKS on every Linux; the `resource` module has no name for it."""
_SET_CHILD_SUBREAPER = 36
_SHOWN = re.compile(rb"^Max file locks +(\d+) ", re.MULTILINE)
_LINUX = os.path.exists("/proc/self/limits") and hasattr(os, "pidfd_open")  # noqa: PTH110

_FIRST = (1 << 61) | (int.from_bytes(os.urandom(3), "big") << 32)
"""Two routers on one machine count from different places."""
_marks = itertools.count(_FIRST)
_leaders: set[int] = set()
"""Children that somebody here waits for; whoever else carries a mark of ours was adopted."""


class Descent:
    """The mark of one child and of everything that comes from it."""

    def __init__(self) -> None:
        self._mark: int | None = None
        self._strangers: set[int] = set()
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
        reap_adopted()

    def kill(self) -> int:
        """SIGKILL to everything but the child itself; how many there were, 0 only when sure."""
        if self._mark is None:
            return 0
        known = bool(self._strangers)
        found = self._swept()
        if not found and known:  # a number may have been given anew meanwhile
            self._strangers.clear()
            found = self._swept()
        return found

    def _swept(self) -> int:
        found = 0
        for pid in _pids():
            if pid in self._strangers or pid == self.leader:
                continue
            if mark_of(pid) == self._mark:
                found += self._killed(pid)
            else:
                self._strangers.add(pid)
        return found

    def _killed(self, pid: int) -> bool:
        """End one process of ours; one that has ended but was adopted by us is reaped."""
        state, parent = _state_of(pid)
        if state in "ZX":
            if parent == os.getpid():
                _reap(pid)
            return False
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's by now
            held = os.pidfd_open(pid)
            try:
                if mark_of(pid) == self._mark:  # the number is still the same process's
                    signal.pidfd_send_signal(held, signal.SIGKILL)
            finally:
                os.close(held)
        return True


def adopt_orphans() -> None:
    """
    Become the parent of every orphan below this process, on Linux.

    The first process of many a container reaps nobody: what a command left behind would stay in
    the process table for ever.
    """
    if _LINUX:
        import ctypes  # noqa: PLC0415 - only a server needs it

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_adopted() -> None:
    """Reap children that this process got from its children, never one that is waited for."""
    if not _LINUX:
        return
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in _leaders or (mark_of(ended.si_pid) or 0) < _FIRST:
                return
            _reap(ended.si_pid)


def mark_of(pid: int) -> int | None:
    """The number that a process carries, None if it has none or is not there."""
    try:
        with open(f"/proc/{pid}/limits", "rb", buffering=0) as file:  # noqa: PTH123 - hot
            found = _SHOWN.search(file.read(4096))
    except OSError:
        return None
    return int(found[1]) if found else None


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _pids() -> list[int]:
    """Every process, the newest first: what is about to fork again is met while it lives."""
    return sorted(
        (
            int(name)
            for name in os.listdir("/proc")  # noqa: PTH208 - hot
            if name.isdigit()
        ),
        reverse=True,
    )


def _state_of(pid: int) -> tuple[str, int]:
    """The letter of its state and its parent; `X` when it is not there."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - hot
            state, parent, *_ = file.read(4096).rpartition(b")")[2].split()
    except (OSError, ValueError):
        return "X", 0
    return state.decode("ascii"), int(parent)
