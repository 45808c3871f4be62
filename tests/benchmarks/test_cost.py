"""What one of many costs: read from the process, divided by how many, shown below the rates."""

import shutil
from pathlib import Path

import pytest

from benchmarks import cost, table
from benchmarks.comparing import compare
from benchmarks.cost import Used
from benchmarks.figures import Cost, Row
from tests.acceptance.process import Rig
from tests.acceptance.senders import ENDPOINTS, environ
from tests.benchmarks.values import a_run

TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 62.10    0.000123          12        10           pwrite64
 37.90    0.000075           7       132         3 futex
------ ----------- ----------- --------- --------- ----------------
100.00    0.000198           1       142         3 total
"""
RULES = ENDPOINTS + "rules:\n  - {id: main, from: code, events: push, actions: {log: hello}}\n"


def test_what_was_used_is_divided_by_how_many() -> None:
    taken = Used(3.0, 1.0, 500, 60).since(Used(1.0, 0.5, 100, 20))
    assert taken.each(1_000, 14.5) == Cost(2_000.0, 500.0, 0.4, 0.04, 14.5)


def test_commits_that_a_router_does_not_tell_stay_unknown() -> None:
    assert Used(3.0, 1.0, 500, None).since(Used()).each(10).commits is None


def test_the_calls_of_every_row_are_added_up() -> None:
    assert cost.total(TABLE) == 142


@pytest.mark.long
def test_a_router_tells_its_commits_and_proc_the_rest(tmp_path: Path) -> None:
    with Rig(tmp_path, RULES, environ()).router() as router:
        found = cost.used(router)
    assert found.commits is not None
    assert found.user_s + found.system_s > 0
    assert found.switches > 0


@pytest.mark.long
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: it counts system calls")
def test_calls_are_counted_while_the_block_lasts(tmp_path: Path) -> None:
    with Rig(tmp_path, RULES, environ()).router() as router:
        with cost.traced(router, tmp_path / "calls.txt") as calls:
            assert router.ready()
        if calls.count is None:
            pytest.skip("strace may not trace another process here")
        assert calls.count >= 4
        assert router.ready()


@pytest.mark.long
def test_without_strace_nothing_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Rig(tmp_path, RULES, environ()).router() as router:
        monkeypatch.setenv("PATH", str(tmp_path))
        with cost.traced(router, tmp_path / "calls.txt") as calls:
            pass
    assert calls.count is None


def test_costs_stand_below_the_rows_that_have_them() -> None:
    rate = Row("accept", 100, "deliveries/s", cost=Cost(100.0, 20.0, 1.0, None, 14.4))
    told = table.whole([rate, Row("p99", 1.0, "ms")])
    rows, _, costs = told.partition("\n\n")
    assert "| accept " in rows
    assert "| accept " in costs
    assert "|     120 |" in costs
    assert "p99" not in costs


def test_without_costs_there_is_no_second_table() -> None:
    assert table.cost_table([Row("p99", 1.0, "ms")]) == ""


def test_processor_time_beside_a_rate_is_compared() -> None:
    def rate(each: float) -> Row:
        return Row("accept", 100, "deliveries/s", cost=Cost(each, 0.0, 1.0))

    worse = compare(a_run(rate(100.0)), a_run(rate(200.0))).of("worse")
    assert [(one.name, one.times) for one in worse] == [("accept: processor time of one", 0.5)]
