"""What a child has started: known by its mark, killed with it, reaped without stealing."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.actions.descent import Descent, mark_of, reap_adopted
from router.actions.shell import ShellAction
from router.model.job import Done, Retry
from tests.sim.makers import a_job, a_shell_call
from tests.waiting import until

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/limits").exists(), reason="only on Linux is every descendant known"
)


@contextlib.contextmanager
def _marked(*argv: str) -> Iterator[tuple[Descent, subprocess.Popen[bytes]]]:
    descent = Descent()
    with descent.inherited():
        process = subprocess.Popen(argv, start_new_session=True)
    descent.began(process.pid)
    try:
        yield descent, process
    finally:
        process.kill()
        descent.kill()
        process.wait()
        descent.ended()


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def _descriptors() -> list[int]:
    return [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]


def test_a_mark_is_a_child_s_own_and_not_ours() -> None:
    with _marked("sleep", "60") as (_, one), _marked("sleep", "60") as (_, two):
        marks = {mark_of(one.pid), mark_of(two.pid)}
        assert len(marks) == 2
        assert None not in marks
        assert mark_of(os.getpid()) not in marks


def test_what_left_everything_behind_is_found(tmp_path: Path) -> None:
    """Another session, another parent, no environment: and a bystander that is left alone."""
    pid_file = tmp_path / "pid"
    script = f"env -i setsid /bin/sh -c 'echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; "
    script += "exec sleep 60' & sleep 60"
    with (
        subprocess.Popen(["sleep", "60"]) as bystander,
        _marked("sh", "-c", script) as (descent, leader),
    ):
        asyncio.run(until(pid_file.exists))
        stray = int(pid_file.read_text())
        leader.kill()
        while descent.kill():
            pass
        assert _ended(stray)
        assert bystander.poll() is None
        bystander.kill()


def test_children_of_others_are_not_reaped() -> None:
    with subprocess.Popen(["sh", "-c", "exit 7"]) as other:
        asyncio.run(until(lambda: _ended(other.pid)))
        reap_adopted()
        assert other.wait() == 7
    with _marked("sh", "-c", "exit 7") as (_, ours):
        asyncio.run(until(lambda: _ended(ours.pid)))
        reap_adopted()
        assert ours.wait() == 7, "somebody here waits for it"


async def test_asyncio_s_own_children_are_not_reaped() -> None:
    shell = ShellAction()
    for _ in range(5):
        other = await asyncio.create_subprocess_exec("sh", "-c", "exit 7")
        assert isinstance(await shell.run(a_shell_call("true"), a_job()), Done)
        assert await other.wait() == 7


def test_an_adopted_orphan_is_reaped_when_the_next_command_ends() -> None:
    """In a process that adopts, as the first of a container does."""
    code = """
import asyncio, os, pathlib
from router.actions.descent import adopt_orphans
from router.actions.shell import ShellAction
from tests.sim.makers import a_job, a_shell_call
from tests.waiting import until

def children():
    return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

async def main():
    shell = ShellAction()
    await shell.run(a_shell_call("sh", "-c", "setsid sleep 0.05 &"), a_job())
    (orphan,) = children()
    await until(lambda: state(orphan) == "Z")
    await shell.run(a_shell_call("true"), a_job())
    assert children() == [], children()

adopt_orphans()
asyncio.run(main())
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


async def test_a_command_that_ends_by_itself_may_leave_a_daemon(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 60' >/dev/null 2>&1 & "
    script += f"while [ ! -s {pid_file} ]; do sleep 0.01; done"
    outcome = await ShellAction().run(a_shell_call("sh", "-c", script), a_job())
    assert isinstance(outcome, Done)
    daemon = int(pid_file.read_text())
    assert not _ended(daemon)
    os.kill(daemon, signal.SIGKILL)


async def test_no_room_for_descriptors_fails_the_attempt_and_leaks_none() -> None:
    shell = ShellAction()
    await shell.run(a_shell_call("true"), a_job())
    before = _descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(before)
    for room in range(1, 9):
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + room, hard))
        try:
            outcome = await shell.run(a_shell_call("true", stdin=b"x"), a_job())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert isinstance(outcome, Retry | Done)
        if isinstance(outcome, Retry):
            assert outcome.failure == "error"
    assert len(_descriptors()) == len(before)
