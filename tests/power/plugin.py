"""
The pytest plugin of a copy with bugs: it finds the tests that reach each bug, and one that fails.

A few processes run it at once. First each runs its share of the test files with all bugs off, and
notes what every test reaches. Then they take one bug after the other. Of the tests that pass and
reach the bug, `tries` are drawn by chance. They run with the bug on in forks of this process, the
quickest first, a few in each fork, until one fails. A test that takes far longer than usual fails.
All fixtures but those of the session are made anew.

A failure counts if the test passes alone in a fork with the bug off, and fails alone in another one
with it on: some tests fail in every fork, and some now and then.

The router's caches are emptied before each file, and if a test passes in a fork without reaching
the bug. Else only the test that fills a cache could notice what is wrong in it.

This file is `power_plugin.py` of the copy, and imports nothing of tests/: that may be older.
"""

import builtins
import json
import os
import random
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

import router

SWITCHES: Any = vars(builtins)["_mut"]
OFF = -1
CPU_S, WALL_S, TIMES = 4.0, 10.0, 10.0
"""A test in a fork may take so long, and so many times what it took at first."""
BATCH = 20
"""So many tests are tried in one fork: forking costs more than most of them."""
MEMORY = 6 << 30
"""A loop that a bug makes endless must not fill the machine's."""
CACHED = type(cache(len))


class Reach(NamedTuple):
    """A test that passes with all bugs off, the seconds it took, and the bugs it reaches."""

    test: str
    wall_s: float
    cpu_s: float
    bugs: list[int]


class Worker:
    """One of the processes; `task` is what `python -m tests.power` wrote for it."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._task, self._folder = task, Path(task["folder"])
        self._good, self._bad = set[str](), set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        (self._good if report.passed else self._bad).add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        files = sorted({item.path for item in session.items})
        mine = set(files[self._task["worker"] :: self._task["workers"]])
        found = [*self._first_run([item for item in session.items if item.path in mine])]
        place = self._folder / f"reach.{self._task['worker']}"
        place.with_name(f"{place.name}.new").write_text(json.dumps(found))
        place.with_name(f"{place.name}.new").rename(place)
        places = [self._folder / f"reach.{worker}" for worker in range(self._task["workers"])]
        while not all(place.exists() for place in places):
            time.sleep(0.2)
        every = [Reach(*row) for place in places for row in json.loads(place.read_text())]
        items = {item.nodeid: item for item in session.items}
        for bug in self._task["bugs"]:
            with suppress(FileExistsError):  # another worker has taken it
                (self._folder / f"taken.{bug}").touch(exist_ok=False)
                row = self._settled(bug, sorted(one for one in every if bug in one.bugs), items)
                with (self._folder / "settled").open("a") as file:
                    file.write(json.dumps(row) + "\n")
        return True

    def _first_run(self, items: Sequence[pytest.Item]) -> Iterator[Reach]:
        last_file = None
        for item, following in pairwise([*items, None]):
            assert item is not None
            if item.path != last_file:
                empty_caches()
            last_file = item.path
            SWITCHES.turn(OFF)
            wall_s, cpu_s = time.monotonic(), sum(os.times()[:4])
            after = following or only_session(item)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if item.nodeid in self._good - self._bad:
                took = time.monotonic() - wall_s, sum(os.times()[:4]) - cpu_s
                yield Reach(item.nodeid, *took, sorted(SWITCHES.reached()))

    def _settled(
        self, bug: int, reach: Sequence[Reach], items: dict[str, pytest.Item]
    ) -> dict[str, object]:
        """Try tests that reach this bug until one catches it; return what came of it."""
        chance = random.Random(f"{self._task['seed']} {bug}")
        some = chance.sample(reach, min(len(reach), self._task["tries"]))
        some.sort(key=lambda one: one.wall_s)
        tried = 0
        caught_by = ""
        while tried < len(some) and not caught_by:
            batch = [one for one in some[tried : tried + BATCH] if one.test not in self._bad]
            passed = fork([items[one.test] for one in batch], batch, bug, on=bug)
            tried = tried + BATCH
            if passed < len(batch):
                suspect = batch[passed]
                tried = some.index(suspect) + 1
                if self._is_caught(bug, items[suspect.test], suspect):
                    caught_by = suspect.test
        tries = min(tried, len(some))
        return {"bug": bug, "caught_by": caught_by, "tries": tries, "reached_by": len(reach)}

    def _is_caught(self, bug: int, item: pytest.Item, usual: Reach) -> bool:
        if not fork([item], [usual], bug, on=OFF):
            self._bad.add(item.nodeid)
            return False
        return not fork([item], [usual], bug, on=bug)


def fork(items: Sequence[pytest.Item], usual: Sequence[Reach], bug: int, *, on: int) -> int:
    """Run these tests in a fork until one fails or takes too long; return how many passed."""
    SWITCHES.turn(on)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            os.setpgid(0, 0)
            for item, one in zip(items, usual, strict=True):
                bound(one.cpu_s)
                os.write(theirs, b"+" if passes(item, bug) else b"-")
        os._exit(0)
    os.close(theirs)
    waiting = select.poll()
    waiting.register(ours)
    passed = 0
    while passed < len(items) and waiting.poll(1000 * (WALL_S + TIMES * usual[passed].wall_s)):
        if os.read(ours, 1) != b"+":
            break  # it failed, or the process died
        passed += 1
    os.close(ours)
    with suppress(OSError):  # with what it has started and left
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return passed


def bound(usual_s: float) -> None:
    """Let this process use the CPU for so many times as long as usual, and not all memory."""
    used_s = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    latest_s = int(used_s + CPU_S + TIMES * usual_s)
    resource.setrlimit(resource.RLIMIT_CPU, (latest_s, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def passes(item: pytest.Item, bug: int) -> bool:
    """Run a test here; once more with empty caches if it passes without reaching the bug."""
    for _ in range(2):
        if isinstance(item, pytest.Function):
            item._initrequest()  # its fixtures anew, as plugins that rerun tests do
        reports = runtestprotocol(item, log=False, nextitem=only_session(item))
        if any(report.failed for report in reports):
            return False
        if bug in SWITCHES.reached():
            return True
        empty_caches()
    return True


def only_session(item: pytest.Item) -> Any:
    """Stands for a next test of which nothing but the session is set up already."""
    return SimpleNamespace(listchain=lambda: [item.session])


def empty_caches() -> None:
    """Empty the caches of the functions in the router's modules."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] == "router":
            for value in [*vars(module).values()]:
                if isinstance(value, CACHED):
                    value.cache_clear()


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run on another router than the copy's."""
    if not Path(router.__file__).is_relative_to(config.rootpath):
        raise pytest.UsageError(f"the router that is tested is {router.__file__}, not the copy's")
    SWITCHES.is_child = False
    task = json.loads(Path(os.environ["POWER_TASK"]).read_text())
    config.pluginmanager.register(Worker(task), "power-worker")
