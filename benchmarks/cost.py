"""
What one of many costs the router's process: processor time, switches, commits, system calls.

Read from outside, from /proc and the router's own /metrics, so that any commit can be measured.
System calls are counted in a round of their own, for a process that is traced is a slow one.
"""

import os
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Cost
from tests.acceptance.process import RouterProcess

COMMITS = re.compile(r"^router_commit_seconds_count (\S+)$", re.MULTILINE)
SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s+(\d+)$", re.MULTILINE)
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 10.0
NOT_COUNTED = "system calls were not counted: strace is not installed, or may not trace"
CALLS_AT = 3
"""The column of strace's table."""


class Used(NamedTuple):
    """What a process has used so far. `commits` is None if it does not tell."""

    user_s: float = 0.0
    system_s: float = 0.0
    switches: int = 0
    commits: int | None = 0

    def since(self, before: "Used") -> "Used":
        commits = None
        if self.commits is not None and before.commits is not None:
            commits = self.commits - before.commits
        return Used(
            self.user_s - before.user_s,
            self.system_s - before.system_s,
            self.switches - before.switches,
            commits,
        )

    def each(self, count: int, calls: float | None = None) -> Cost:
        """The cost of one, of so many."""
        return Cost(
            user_us=self.user_s / count * 1e6,
            system_us=self.system_s / count * 1e6,
            switches=self.switches / count,
            commits=None if self.commits is None else self.commits / count,
            calls=calls,
        )


def used(router: RouterProcess) -> Used:
    """By the router's own process, the system's work for it included; not by what it started."""
    folder = Path(f"/proc/{pid(router)}")
    fields = (folder / "stat").read_text("ascii").rpartition(")")[2].split()
    return Used(int(fields[11]) / TICKS, int(fields[12]) / TICKS, switches(folder), commits(router))


def pid(router: RouterProcess) -> int:
    assert router.process is not None  # noqa: S101
    return router.process.pid


def switches(folder: Path) -> int:
    """Of all its threads that live, whether they waited or were made to."""
    count = 0
    for status in folder.glob("task/*/status"):
        try:
            text = status.read_text("utf-8")
        except (FileNotFoundError, ProcessLookupError):
            continue  # this thread has just ended
        count += sum(map(int, SWITCHES.findall(text)))
    return count


def commits(router: RouterProcess) -> int | None:
    with urllib.request.urlopen(f"{router.admin_url}/metrics", timeout=PATIENCE_S) as answer:  # noqa: S310 - loopback
        found = COMMITS.search(answer.read().decode())
    return None if found is None else int(float(found[1]))


# -- system calls --------------------------------------------------------------------------------


class Calls:
    """How many system calls were made while it was traced; None: nobody could count them."""

    count: int | None = None


@contextmanager
def traced(router: RouterProcess, place: Path) -> Iterator[Calls]:
    """Count the system calls of this process until the block ends; `place` is strace's file."""
    found = Calls()
    if shutil.which("strace") is None:
        yield found
        return
    command = ["strace", "-c", "-f", "-o", str(place), "-p", str(pid(router))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None  # noqa: S101
        attached = "attached" in tracer.stderr.readline()
        try:
            yield found
        finally:
            tracer.send_signal(signal.SIGINT)  # it lets go of the router and writes its table
            tracer.communicate(timeout=PATIENCE_S)
    if attached:
        found.count = total(place.read_text("utf-8"))


def total(table: str) -> int:
    """The sum of the column of calls of strace's table."""
    rows = (line.split() for line in table.splitlines())
    kept = (row for row in rows if len(row) > CALLS_AT + 1 and row[-1] != "total")
    return sum(int(row[CALLS_AT]) for row in kept if row[CALLS_AT].isdigit())
