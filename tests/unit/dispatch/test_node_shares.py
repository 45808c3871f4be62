"""A node beside others: it uses its shares of targets' limits, and says what it would use."""

import asyncio

from router.dispatch import Dispatcher, DispatchSettings
from router.dispatch.node_shares import USES_MOST
from router.model.job import Done, Job, Outcome, Work
from router.model.settings import TargetLimits
from router.model.share import ShareReport, ShareRow, Shares, TargetShare, TargetUse
from tests.builders import a_delivery, an_event
from tests.unit.dispatch.bench import Bench, on_bench


async def _starts(bench: Bench, **given: int) -> Dispatcher:
    """A dispatcher beside others; `given`: jobs at once of its first shares."""
    bench.settings = DispatchSettings(shared=True)
    dispatcher = await bench.start()
    _gives(dispatcher, 1, **given)
    return dispatcher


def _gives(dispatcher: Dispatcher, version: int, **given: int) -> None:
    shares = {target: TargetShare(count, None) for target, count in given.items()}
    dispatcher.shares.take_over(Shares(version, shares))


async def _lasts(_job: Job) -> Outcome:
    await asyncio.sleep(1)
    return Done()


@on_bench
async def test_without_a_share_nothing_is_started_until_it_comes(bench: Bench) -> None:
    dispatcher = await _starts(bench)
    assert dispatcher.reserve("erp", "http") is None
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(30)
    assert "lease" not in bench.verbs
    assert bench.states() == {"job_0": "available"}
    _gives(dispatcher, 2, erp=1)
    await asyncio.sleep(0.01)
    assert bench.states() == {"job_0": "succeeded"}
    assert dispatcher.reserve("erp", "http") is not None


@on_bench
async def test_nor_is_a_job_of_unknown_kind_leased(bench: Bench) -> None:
    dispatcher = await _starts(bench)
    await bench.commit(*bench.new(kind="shell", target="r/sh"))
    dispatcher.wake("r/sh", bench.clock.now())
    await asyncio.sleep(6)
    assert "lease" not in bench.verbs
    _gives(dispatcher, 2, **{"r/sh": 1})
    await asyncio.sleep(0.01)
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_of_its_own_limits_and_its_share_the_smaller_one_holds(bench: Bench) -> None:
    bench.act.how = _lasts
    bench.limits["erp"] = TargetLimits(3)
    dispatcher = await _starts(bench, erp=2, crm=100)
    await bench.commit_and_wake(*bench.new(9), *bench.new(40, target="crm"))
    await asyncio.sleep(0.5)
    assert dispatcher.shares.report().uses == {"erp": TargetUse(2, 3), "crm": TargetUse(16, 16)}
    _gives(dispatcher, 2, erp=5, crm=100)
    await asyncio.sleep(0.01)
    assert dispatcher.shares.report().uses["erp"] == TargetUse(3, 3)


@on_bench
async def test_so_does_the_slower_rate(bench: Bench) -> None:
    bench.limits |= {"erp": TargetLimits(16, 4.0), "crm": TargetLimits(16, 0.5)}
    dispatcher = await _starts(bench)
    slow = TargetShare(16, 1.0)
    dispatcher.shares.take_over(Shares(2, {"erp": slow, "crm": slow, "bare": slow}))
    await bench.commit_and_wake(*[new for t in bench.limits for new in bench.new(50, target=t)])
    await bench.commit_and_wake(*bench.new(50, target="bare"))
    await asyncio.sleep(20.5)
    ran = [bench.ledger.records[name].target for name in bench.act.names()]
    assert {target: ran.count(target) for target in set(ran)} == {"erp": 21, "crm": 11, "bare": 21}


@on_bench
async def test_a_share_without_a_rate_s_share_starts_nothing(bench: Bench) -> None:
    bench.limits["erp"] = TargetLimits(16, 4.0)
    dispatcher = await _starts(bench)
    dispatcher.shares.take_over(Shares(2, {"erp": TargetShare(4, 0.0)}))
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(6)
    assert bench.act.began == []
    dispatcher.shares.take_over(Shares(3, {"erp": TargetShare(4, 0.5)}))
    await asyncio.sleep(0.01)
    assert bench.act.names() == ["job_0"]


@on_bench
async def test_what_runs_above_a_share_that_shrank_ends_before_another_begins(bench: Bench) -> None:
    bench.act.how = _lasts
    dispatcher = await _starts(bench, erp=4)
    await bench.commit_and_wake(*bench.new(6))
    await asyncio.sleep(0.5)
    _gives(dispatcher, 2, erp=1)
    assert dispatcher.shares.report() == ShareReport(2, {"erp": TargetUse(4, 16)})
    assert dispatcher.reserve("erp", "http") is None
    await asyncio.sleep(1)
    assert dispatcher.shares.report() == ShareReport(2, {"erp": TargetUse(1, 16)})
    await asyncio.sleep(2)
    assert [round(at) for _, at in bench.act.began] == [0, 0, 0, 0, 1, 2]


@on_bench
async def test_who_starts_nothing_wants_nothing(bench: Bench) -> None:
    bench.act.how = _lasts
    dispatcher = await _starts(bench, erp=1)
    await bench.commit_and_wake(*bench.new(3), *bench.new(target="crm"))
    await asyncio.sleep(0.5)
    dispatcher.hold_back()
    assert dispatcher.shares.report().uses == {"erp": TargetUse(1, 1)}
    dispatcher.start_until(bench.clock.monotonic() + 60)
    assert dispatcher.shares.report().uses == {"erp": TargetUse(1, 16), "crm": TargetUse(0, 16)}
    draining = asyncio.ensure_future(dispatcher.drain(5))
    await asyncio.sleep(0.01)
    assert dispatcher.shares.report().uses == {"erp": TargetUse(1, 1)}
    await draining


@on_bench
async def test_what_is_reserved_counts_as_running(bench: Bench) -> None:
    dispatcher = await _starts(bench, erp=4)
    lease = dispatcher.reserve("erp", "http")
    assert dispatcher.shares.report().uses == {"erp": TargetUse(1, 1)}
    (job,) = await bench.commit(*bench.new(lease=lease))
    dispatcher.hand_over([Work(job, a_delivery(), an_event())])
    await asyncio.sleep(0.01)
    assert dispatcher.shares.report() == ShareReport(1, {})


@on_bench
async def test_what_reaches_nothing_outside_has_no_limits_to_share(bench: Bench) -> None:
    bench.act.how = _lasts
    dispatcher = await _starts(bench)
    await bench.commit_and_wake(*bench.new(3, kind="log", target="r/log"))
    await asyncio.sleep(0.5)
    assert sorted(bench.act.names()) == ["job_0", "job_1", "job_2"]
    assert dispatcher.shares.report().uses == {}


@on_bench
async def test_what_another_node_has_run_is_not_wanted_any_more(bench: Bench) -> None:
    dispatcher = await _starts(bench)
    await bench.commit_and_wake(*bench.new(), *bench.new(target="crm"))
    await asyncio.sleep(6)
    assert dispatcher.shares.report().uses.keys() == {"erp", "crm"}
    await bench.ledger.lease({"erp": 1}, lease="other/1", now=bench.clock.ledger())
    await asyncio.sleep(6)
    assert dispatcher.shares.report().uses == {"crm": TargetUse(0, 16)}


@on_bench
async def test_nor_is_it_when_its_share_was_lost_while_it_waited(bench: Bench) -> None:
    bench.act.how = _lasts
    dispatcher = await _starts(bench, erp=1)
    await bench.commit_and_wake(*bench.new(2))
    await asyncio.sleep(0.5)
    _gives(dispatcher, 2)
    await asyncio.sleep(1)
    assert dispatcher.shares.report().uses == {"erp": TargetUse(0, 16)}
    await bench.ledger.lease({"erp": 1}, lease="other/1", now=bench.clock.ledger())
    await asyncio.sleep(6)
    assert dispatcher.shares.report().uses == {}


@on_bench
async def test_who_has_no_share_hides_nobody_who_has_one(bench: Bench) -> None:
    dispatcher = await _starts(bench, z=1)
    many = [new for n in range(600) for new in bench.new(target=f"t{n}")]
    await bench.commit_and_wake(*many, *bench.new(target="z"))
    await asyncio.sleep(0.01)
    assert bench.act.names() == ["job_600"]
    assert len(dispatcher.shares.report().uses) == USES_MOST


@on_bench
async def test_another_node_s_shares_are_not_its_own(bench: Bench) -> None:
    """Nor are older ones, whose answer was late."""
    dispatcher = await _starts(bench, erp=4)
    _gives(dispatcher, 1, erp=9, crm=9)
    assert dispatcher.reserve("crm", "http") is None
    dispatcher.rejoined("boot2")
    assert dispatcher.shares.report().version == 0
    assert dispatcher.reserve("erp", "http") is None
    _gives(dispatcher, 1, erp=1)
    assert dispatcher.reserve("erp", "http") is not None


@on_bench
async def test_targets_are_divided_by_the_limits_of_its_rules(bench: Bench) -> None:
    bench.limits |= {"erp": TargetLimits(7, 3.5), "r/sh": TargetLimits(4)}
    dispatcher = await _starts(bench)
    wants = ShareReport(0, {"erp": TargetUse(0, 7), "r/sh": TargetUse(0, 1)})
    rows = [ShareRow("1", report=wants), ShareRow("2")]
    one, two = dispatcher.shares.divided(rows)
    assert one.shares.given == {"erp": TargetShare(6, 3.0), "r/sh": TargetShare(2, None)}
    assert two.shares.given == {"erp": TargetShare(1, 0.5), "r/sh": TargetShare(2, None)}
