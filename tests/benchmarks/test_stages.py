"""Where time goes: each function has its stage, and what nobody listed is told by name."""

import re
import sys
from pathlib import Path

import pytest

from benchmarks import profiling, sampled, stages
from benchmarks.bench import Bench
from benchmarks.profiling import Round, Told
from benchmarks.stages import OTHER, stage_of_stack
from tests.acceptance.process import ROOT, Rig
from tests.acceptance.senders import ENDPOINTS, environ

LISTED = {
    "verify": ("router/providers/verify.py:",),
    "read": ("router/providers/",),
    "send": ("litestar/", "router/web/answers.py:"),
}
PLACES = {
    part
    for table in (stages.LOOP, stages.WRITER)
    for parts in table.values()
    for part in parts
    if part.startswith("router/")
} | set(stages.HELPERS)
RULES = ENDPOINTS + "rules:\n  - {id: main, from: code, events: push, actions: {log: hello}}\n"


@pytest.mark.parametrize("place", sorted(PLACES))
def test_what_is_listed_is_there(place: str) -> None:
    """One that moved would leave its time to its callers, or to `other`."""
    file, _, function = place.partition(":")
    found = list(ROOT.glob(f"{file}*"))
    assert found, f"{place} is listed in benchmarks/stages.py, and is not in router/"
    name = function.rpartition(".")[2]
    assert not name or re.search(rf"def {name}\b", found[0].read_text("utf-8"))


@pytest.mark.parametrize(
    ("stack", "stage", "decided"),
    [
        (["router/providers/verify.py:v", "router/providers/a.py:f"], "verify", 0),
        (["hmac.py:digest", "router/providers/a.py:f"], "read", 1),
        (["router/clock.py:now", "router/web/answers.py:f"], "send", 1),
        (["router/new.py:f", "router/providers/a.py:f"], OTHER, 0),
        (["json/encoder.py:f"], OTHER, 0),
    ],
)
def test_the_innermost_function_that_is_listed_decides(
    stack: list[str], stage: str, decided: int
) -> None:
    assert stage_of_stack(stack, LISTED) == (stage, stack[decided])


def test_a_stack_of_nothing_is_other() -> None:
    assert stage_of_stack([], LISTED) == (OTHER, "no function")


def test_what_was_sampled_shares_out_the_total() -> None:
    spent = {
        "/code/router/providers/verify.py:v": 6.0,
        "/env/lib/python3.11/site-packages/litestar/a.py:f": 2.0,
        "/code/router/new.py:f": 2.0,
    }
    found = list(stages.table(spent, LISTED, "/code", 5.0).rows())
    assert found == [("verify", 3.0), ("send", 1.0), ("other (router/new.py:f)", 1.0)]


def test_totals_are_of_rounds_in_which_nobody_watched() -> None:
    clocks = {sampled.LOOP: 0.002, sampled.WRITER: 0.001, "reader": 0.0005}
    plain = Round(Told(clocks, {}), 10)
    twice = {name: 2 * seconds for name, seconds in clocks.items()}
    watched = {
        label: [Round(Told(twice, {thread: {"router/web/protocol.py:f": 0.004}}), 10)]
        for thread, (label, _) in profiling.THREADS.items()
    }
    told = {"clocks": [plain], **watched}
    rows = list(profiling.rows(Bench(ROOT), "accept", "us/delivery", told))
    found = {row.name: row.figure for row in rows}
    assert found["accept, loop, in all"] == pytest.approx(200)
    assert found["accept, loop: request, parse and head checks"] == pytest.approx(200)
    assert found["accept, writer, in all"] == pytest.approx(100)
    assert found["accept, other threads, most of it reader"] == pytest.approx(50)


@pytest.mark.skipif(sys.platform != "linux", reason="timers of a thread's own clock are Linux's")
@pytest.mark.long
@pytest.mark.parametrize("what", profiling.WHATS)
def test_a_router_can_be_watched(tmp_path: Path, what: str) -> None:
    rig = Rig(tmp_path, RULES, environ())
    with profiling.watched(rig, what) as (_, ask):
        before = ask()
        later = ask().since(before)
    assert before.clocks[sampled.LOOP] > 0
    assert before.clocks[sampled.WRITER] > 0
    labels = [profiling.THREADS[thread][0] for thread in before.stacks]
    assert labels == ([] if what == "clocks" else [what])
    for thread, stacks in before.stacks.items():
        seen = ";".join(stacks)
        assert ("store/sqlite/writer.py:Writer" if what == "writer" else "router/") in seen
        assert sum(stacks.values()) <= before.clocks[thread] * 1.01
        assert later.stacks[thread].keys() >= stacks.keys()


def test_what_timing_costs_is_taken_off_again() -> None:
    timer = sampled.Timer()
    timer.calibrate()
    assert timer.each > 0
    stack = (sampled.nothing.__code__,)
    timer.seconds[stack], timer.events[stack] = 1.0 + 10 * timer.each, 10
    assert list(timer.report().values()) == [pytest.approx(1.0)]
