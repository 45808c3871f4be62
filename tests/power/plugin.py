"""
The pytest plugin of a copy with bugs: it finds the tests that reach each bug, and one that fails.

A few processes run it at once. First each runs its share of the test files with all bugs off, and
notes what every test reaches. Then they take one bug after the other. Of the tests that pass and
reach the bug, `tries` are drawn by chance and tried, quickest first, until one fails. A try is a
fork with a bounded time, in which all fixtures but those of the session are made anew.

A failure counts if the test passes in a fork with the bug off, and fails in a third with it on:
some tests fail in every fork, and some now and then. Running out of time counts as a failure.

The router's caches are emptied before each file, and in a second fork if a first one passes without
reaching the bug. Else only the test that fills a cache could notice what is wrong in it.

This file is `power_plugin.py` of the copy, and imports nothing of tests/: that may be older.
"""

import builtins
import json
import os
import random
import resource
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
PASSED, FAILED, UNREACHED = 0, 1, 2
CPU_S, WALL_S, TIMES = 4.0, 10.0, 10.0
"""A fork may take so long, and so many times what the test took at first."""
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
        row: dict[str, object] = {"bug": bug, "caught_by": "", "reached_by": len(reach), "tries": 0}
        for tries, one in enumerate(sorted(some, key=lambda one: one.wall_s), start=1):
            row["tries"] = tries
            if one.test not in self._bad and self._is_caught(bug, items[one.test], one):
                row["caught_by"] = one.test
                break
        return row

    def _is_caught(self, bug: int, item: pytest.Item, usual: Reach) -> bool:
        cold = False
        said = fork(item, bug, usual, cold)
        if said == UNREACHED:
            cold = True
            said = fork(item, bug, usual, cold)
        if said != FAILED:
            return False
        if fork(item, OFF, usual, cold) == FAILED:
            self._bad.add(item.nodeid)
            return False
        return fork(item, bug, usual, cold) == FAILED


def fork(item: pytest.Item, bug: int, usual: Reach, cold: bool) -> int:
    """Run the test in a fork with this bug on: did it pass, fail, or not reach the bug?"""
    SWITCHES.turn(bug)
    child = os.fork()
    if not child:
        said = FAILED
        with suppress(BaseException):
            said = run_here(item, bug, int(CPU_S + TIMES * usual.cpu_s), cold)
        os._exit(said)
    latest = time.monotonic() + WALL_S + TIMES * usual.wall_s
    ended, status = 0, FAILED
    while not ended and time.monotonic() < latest:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0 if ended else 0.002)
    with suppress(OSError):  # what it has started and left
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if ended and os.WIFEXITED(status) else FAILED


def run_here(item: pytest.Item, bug: int, cpu_s: int, cold: bool) -> int:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 2))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if cold:
        empty_caches()
    if isinstance(item, pytest.Function):
        item._initrequest()  # its fixtures anew, as plugins that rerun tests do
    reports = runtestprotocol(item, log=False, nextitem=only_session(item))
    if any(report.failed for report in reports):
        return FAILED
    return PASSED if bug in SWITCHES.reached() else UNREACHED


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
