"""
Plugins that do their worst, one a test, in real child processes.

Each costs its own attempt and nothing else: the loop is free for others meanwhile, the same action
runs the next call, nothing of the hostile one is left, and no zombie.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.model.job import Done, Outcome, RetryOutcome
from tests.children import children
from tests.hostile.plugins import SOURCE
from tests.hostile.turns import watched
from tests.plugin_rig import Rig, running_rig
from tests.waiting import until

pytestmark = pytest.mark.long

SHORT_S = 0.3
PATIENCE_S = 20.0
MEMORY = 256 * 1024 * 1024


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """One action for the hostile call and for the ones beside and after it."""
    before = children()
    async with running_rig(tmp_path, SOURCE, memory=MEMORY) as made:
        await made.run("well")  # a process is there: a short limit is the plugin's alone
        with watched():
            yield made
    assert children() <= before


async def _one_attempt(rig: Rig, name: str, failure: str, **changes: object) -> RetryOutcome:
    """The hostile call fails so; the one beside it and the one after it succeed."""
    hostile, beside = await asyncio.gather(rig.run(name, **changes), rig.run("well"))
    assert isinstance(hostile, RetryOutcome), hostile
    assert hostile.failure == failure
    assert isinstance(beside, Done)
    assert isinstance(await rig.run("well"), Done)
    return hostile


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("segfault", "the plugin ended its process: killed by SIGSEGV"),
        ("leaves", "the plugin ended its process: exit 0"),
        ("kills_itself", "the plugin ended its process: killed by SIGKILL"),
        ("aborts", "the plugin ended its process: killed by SIGABRT"),
        ("exits", "SystemExit: 0"),
        ("base", "BaseException: deep"),
        ("interrupts", "KeyboardInterrupt"),
        ("cancels", "CancelledError"),
        ("recurses", "RecursionError: maximum recursion depth exceeded"),
        ("deep_result", "the result is nested deeper than 64"),
        ("raises_a_trap", "Trap"),
    ],
)
async def test_a_violent_end(rig: Rig, name: str, reason: str) -> None:
    assert (await _one_attempt(rig, name, "error")).reason.startswith(reason)


@pytest.mark.parametrize(
    "name",
    [
        "loops",
        "loops_in_c",
        "loops_async",
        "will_not_be_cancelled",
        "ignores_signals",
        "stops_itself",
        "floods",
        "floods_errors",
        "drips",
        "forges_a_frame_without_end",
    ],
)
async def test_work_without_end(rig: Rig, name: str) -> None:
    began = time.monotonic()
    outcome = await _one_attempt(rig, name, "timeout", timeout_s=SHORT_S)
    assert outcome.reason == f"stopped after {SHORT_S:g} s"
    assert time.monotonic() - began < PATIENCE_S
    if name == "loops":
        assert outcome.result["stdout"] == "on\n"


async def test_when_a_timeout_is_reported_the_process_has_gone(rig: Rig) -> None:
    outcome = await rig.run("loops_by_name", timeout_s=SHORT_S)
    with pytest.raises(ProcessLookupError):
        os.kill(int(outcome.result["stdout"]), 0)


async def test_memory_without_end(rig: Rig) -> None:
    outcome = await _one_attempt(rig, "leaks_memory", "error")
    assert outcome.reason.startswith("MemoryError")


async def test_a_slow_leak_ends_with_the_process_it_lives_in(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE, rss_max=60 * 1024 * 1024) as rig:
        pids = [await rig.value("leaks_slowly") for _ in range(20)]
    assert len(set(pids)) > 1


@pytest.mark.parametrize("name", ["leaks_threads", "leaks_files", "closes_its_output"])
async def test_a_littered_process_is_not_used_again(rig: Rig, name: str) -> None:
    pid = await rig.value(name)
    assert await rig.value("well") != pid


async def test_all_descriptors_closed(rig: Rig) -> None:
    await _one_attempt(rig, "closes_everything", "error")


@pytest.mark.parametrize(
    "name", ["garbage", "nonsense", "forges", "begins_without_end", "forges_a_long_result"]
)
async def test_words_on_every_descriptor(rig: Rig, name: str) -> None:
    outcome = await _one_attempt(rig, name, "error")
    assert outcome.reason == "the plugin's process sent no proper answer"


async def test_a_fork_that_comes_back_does_not_answer_twice(rig: Rig) -> None:
    assert await rig.value("fork_returns") == "parent"
    assert isinstance(await rig.value("well"), int)


async def test_a_fork_that_holds_the_socket_holds_nobody_up(rig: Rig, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    outcome = await rig.run("fork_stays_and_leaves", args={"pids": str(pids)})
    assert isinstance(outcome, RetryOutcome)
    assert outcome.failure == "error", "it was not waited for until its time was over"
    await until(lambda: not _lives(int(pids.read_text())))
    assert isinstance(await rig.run("well"), Done)


async def test_children_of_a_plugin_go_with_it(rig: Rig, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    await _one_attempt(
        rig, "starts_children", "timeout", timeout_s=SHORT_S, args={"pids": str(pids)}
    )
    for pid in pids.read_text().split():
        await until(lambda pid=pid: not _lives(int(pid)))  # type: ignore[misc]


async def test_cancelling_ends_the_work_first(rig: Rig, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = asyncio.create_task(rig.run("starts_children", args={"pids": str(pids)}))
    await until(pids.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for pid in pids.read_text().split():
        await until(lambda pid=pid: not _lives(int(pid)))  # type: ignore[misc]
    assert isinstance(await rig.run("well"), Done)


@pytest.mark.parametrize("name", ["breaks_the_process", "breaks_modules", "returns_a_trap"])
async def test_a_broken_process_recovers_or_is_replaced(rig: Rig, name: str) -> None:
    await rig.run(name)
    outcomes: list[Outcome] = [await rig.run("well") for _ in range(3)]
    assert isinstance(outcomes[-1], Done)  # two errors in a row, and there is a new process


async def test_many_crashes_leave_nothing(rig: Rig) -> None:
    descriptors = _open_descriptors()
    for _ in range(5):
        await asyncio.gather(*(rig.run("leaves") for _ in range(4)))
    await rig.run("well")
    await until(lambda: _open_descriptors() <= descriptors)


@pytest.mark.parametrize(
    "endless",
    [
        "while True: pass",
        "7 ** (7 ** 10)",  # no thread runs beside it
        "import re; re.match('(a+)+$', 'a' * 50 + 'b')",
        "import signal; os.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=["loop", "number", "pattern", "stopped"],
)
def test_work_without_end_ends_with_the_router(tmp_path: Path, endless: str) -> None:
    """The router is killed: the job will run again, so its old run must not go on."""
    (tmp_path / "plugins").mkdir()
    source = "import os\ndef f(e, c):\n    print(os.getpid(), file=open('pid', 'w'), flush=True)\n"
    (tmp_path / "plugins" / "tried.py").write_text(f"{source}    {endless}\n")
    router = subprocess.Popen(
        [sys.executable, "-c", _ROUTER, str(tmp_path)], cwd=Path(__file__).parents[2]
    )
    _until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
    pid = int((tmp_path / "pid").read_text())
    router.send_signal(signal.SIGKILL)
    router.wait()
    _until(lambda: not _lives(pid))


_ROUTER = """
import asyncio, pathlib, sys
from tests.plugin_rig import running_rig
async def main():
    folder = pathlib.Path(sys.argv[1])
    source = (folder / "plugins" / "tried.py").read_text()
    async with running_rig(folder, source) as rig:
        await rig.run("f")
asyncio.run(main())
"""


def _until(condition: object) -> None:
    """Without a loop; the test's own time limit bounds it."""
    while not condition():  # type: ignore[operator]
        os.sched_yield()


def _lives(pid: int) -> bool:
    """Whether a process runs (a zombie of init's does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
