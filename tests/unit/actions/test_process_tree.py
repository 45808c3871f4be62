"""What a child has started: known by its mark, killed with it, reaped without stealing."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.actions.child import Child
from router.actions.process_tree import Descent, in_turns, mark_of, reap_adopted
from router.actions.shell import ShellAction
from router.model.job import Done, RetryOutcome
from tests.hostile.turns import watched
from tests.sim.makers import a_job, a_shell_call
from tests.waiting import until

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/limits").exists(), reason="only on Linux is every descendant known"
)

STORM = 1_500
ENV = {"PATH": os.environ["PATH"]}


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
        _left(descent)
        process.wait()
        descent.ended()


def _left(descent: Descent) -> int:
    return max(descent.kill(), default=0)


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def _threads(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    except OSError:  # it may go while we look
        return 0


def _descriptors() -> list[int]:
    return [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]


def test_a_mark_is_a_child_s_own_and_not_ours() -> None:
    with _marked("sleep", "60") as (_, one), _marked("sleep", "60") as (_, two):
        marks = {mark_of(one.pid), mark_of(two.pid)}
        assert len(marks) == 2
        assert None not in marks
        assert mark_of(os.getpid()) not in marks


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_the_marks_of_another_user_s_processes_are_known_too() -> None:
    """The system gives them to nobody else by number; they are read."""
    code = "import os, sys; from router.actions.process_tree import mark_of; os.setuid(65534); "
    code += "print(*(mark_of(int(pid)) for pid in sys.argv[1:]))"
    with _marked("sleep", "60") as (_, one), subprocess.Popen(["true"]) as gone:
        gone.wait()
        pids = [one.pid, os.getpid(), gone.pid]
        ran = subprocess.run(
            [sys.executable, "-c", code, *map(str, pids)],
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.split() == [str(mark_of(pid)) for pid in pids]


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
        while _left(descent):
            pass
        assert _ended(stray)
        assert bystander.poll() is None
        bystander.kill()


def test_what_begins_while_the_others_are_looked_at_is_met(tmp_path: Path) -> None:
    """Its parent may be gone before it is looked at itself."""
    script = "until [ -e go ]; do sleep 0.01; done;"
    script += " setsid sleep 600 & echo $! >new; mv new pid; wait"
    with _marked("sh", "-c", f"cd {tmp_path}; {script}") as (descent, _):
        steps = descent.kill()
        next(steps)  # what there is has been listed
        (tmp_path / "go").touch()
        asyncio.run(until((tmp_path / "pid").exists))
        assert max(steps)
        late = int((tmp_path / "pid").read_text())
        asyncio.run(until(lambda: _ended(late)))


async def _storm(folder: Path) -> tuple[Child, list[int]]:
    """A command that has started 1,500 processes in a session that is not its own."""
    started = folder / "started"
    script = f"for n in $(seq {STORM}); do sleep 120 & echo $!; done >{started}; wait"
    child = Child(["setsid", "-w", "sh", "-c", script], ENV, "/", None)
    await until(lambda: started.exists() and started.read_text().count("\n") == STORM)
    return child, [int(pid) for pid in started.read_text().split()]


@pytest.mark.long
async def test_a_storm_is_ended_in_turns(tmp_path: Path) -> None:
    """1,500 processes in another session: all end, and the loop is kept for nobody."""
    child, pids = await _storm(tmp_path)
    assert not any(map(_ended, pids))
    with watched():
        child.kill()
        await child.exited()
        await child.gone(60)
    assert all(map(_ended, pids))
    child.close()


@pytest.mark.long
async def test_steps_are_taken_in_turns() -> None:
    """As many as there are, for as many at once: others come in between."""

    def steps() -> Iterator[int]:
        for number in range(8):
            until_s = time.thread_time() + 0.002
            while time.thread_time() < until_s:
                pass
            yield number

    with watched():
        found = await asyncio.gather(*(in_turns(steps()) for _ in range(40)))
    assert found == [7] * 40


@pytest.mark.long
async def test_many_that_end_at_once_share_their_turns() -> None:
    children = [Child(["sleep", "120"], ENV, "/", None) for _ in range(60)]
    with watched():
        for child in children:
            child.kill()
        await asyncio.gather(*(child.exited() for child in children))
        await asyncio.gather(*(child.gone(60) for child in children))
    for child in children:
        child.close()


def test_a_process_whose_first_thread_has_ended_is_none_that_has(tmp_path: Path) -> None:
    """It is shown as a zombie, and runs."""
    code = f"""
import ctypes, os, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
open("{tmp_path}/new", "w").write(str(os.getpid()))
os.rename("{tmp_path}/new", "{tmp_path}/pid")
ctypes.CDLL(None).pthread_exit(None)
"""
    argv = ("sh", "-c", 'setsid "$@" & wait', "sh", sys.executable, "-c", code)
    with _marked(*argv) as (descent, _):
        asyncio.run(until((tmp_path / "pid").exists))
        pid = int((tmp_path / "pid").read_text())
        asyncio.run(until(lambda: _ended(pid)))
        assert _left(descent) == 1
        asyncio.run(until(lambda: _threads(pid) < 2))


def test_children_of_others_are_not_reaped() -> None:
    with subprocess.Popen(["sh", "-c", "exit 7"]) as other:
        asyncio.run(until(lambda: _ended(other.pid)))
        list(reap_adopted())
        assert other.wait() == 7
    with _marked("sh", "-c", "exit 7") as (_, ours):
        asyncio.run(until(lambda: _ended(ours.pid)))
        list(reap_adopted())
        assert ours.wait() == 7, "somebody here waits for it"


async def test_asyncio_s_own_children_are_not_reaped() -> None:
    shell = ShellAction()
    for _ in range(5):
        other = await asyncio.create_subprocess_exec("sh", "-c", "exit 7")
        assert isinstance(await shell.run(a_shell_call("true"), a_job()), Done)
        assert await other.wait() == 7


@pytest.mark.long
def test_an_adopted_orphan_is_reaped_when_the_next_command_ends() -> None:
    """In a process that adopts, as the first of a container does."""
    code = """
import asyncio, os, pathlib
from router.actions.child import Child
from router.actions.process_tree import adopt_orphans
from router.actions.shell import ShellAction
from tests.hostile.turns import watched
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
    await until(lambda: not children())

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
        assert isinstance(outcome, RetryOutcome | Done)
        if isinstance(outcome, RetryOutcome):
            assert outcome.failure == "error"
    assert len(_descriptors()) == len(before)
