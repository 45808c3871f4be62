"""The database is away for long; a router is cut off from it: what they do, and what then."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.fleet import judge
from tests.fleet.campaign import CALLING, RULES, all_ended, answer, read
from tests.fleet.senders import Senders
from tests.fleet.site import Fleet, Node, a_fleet, drawn, until
from tests.fleet.target import Target

pytestmark = pytest.mark.long

AWAY_S = 30.0
"""Twice what a router may be silent before others take it for gone."""
PATIENCE_S = 30.0
"""No answer is expected to take so long, on whatever machine."""
WITH_HELD = RULES + (
    "  - id: held\n    from: code\n    match: payload.number == 1\n"
    "    actions: [{id: call, retry: quick,"
    " http: {target: other, path: '/held/{{ payload.number }}', timeout: 5m}}]\n"
)


@pytest.fixture
async def fleet(tmp_path: Path, postgres_binaries: Path) -> AsyncIterator[Fleet]:
    """Two routers."""
    target = Target(drawn(1, "target"), answer)
    async with a_fleet(tmp_path, postgres_binaries, 2, WITH_HELD, target) as fleet:
        yield fleet


@asynccontextmanager
async def under_load(fleet: Fleet) -> AsyncIterator[Senders]:
    """Once a call is held; when the block ends, all jobs do."""
    urls = [node.router.url for node in fleet.nodes]
    senders = Senders(urls, drawn(1, "senders"), 0.25, PATIENCE_S)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(senders.send(4))
        await held(fleet, 1)
        yield senders
        senders.ends = True
    await until(lambda: all_ended(fleet), "all jobs ended")


async def held(fleet: Fleet, count: int) -> None:
    async def are() -> bool:
        return len(fleet.target.held) >= count

    await until(are, "the call that is held")


async def unready(node: Node) -> None:
    async def is_it() -> bool:
        return not await asyncio.to_thread(node.router.ready)

    await until(is_it, f"{node.name} not ready")


async def asked(node: Node, path: str) -> int:
    answer = await asyncio.to_thread(httpx.get, f"{node.router.admin_url}{path}")
    return answer.status_code


async def attempts_of_the_held(fleet: Fleet) -> list[tuple[int, str]]:
    """Numbers and outcomes, as the ledger has them; what else it has is as it should be."""
    ledger = await read(fleet)
    [job] = [job for job in ledger.jobs if job.rule == "held"]
    others = judge.Ledger(
        ledger.deliveries,
        [one for one in ledger.jobs if one is not job],
        [one for one in ledger.attempts if one.job != job.id],
    )
    assert judge.odd_jobs(others) == []
    assert judge.odd_calls(ledger, fleet.target.calls, (*CALLING, "held")) == []
    assert judge.out_of_turn(ledger, fleet.target.calls) == []
    return sorted((one.number, one.outcome) for one in ledger.attempts if one.job == job.id)


async def told(node: Node, event: str) -> str:
    """When its log said so first."""
    lines = node.router.log.read_text("utf-8").splitlines()
    times: list[str] = [
        one["timestamp"]
        for one in (json.loads(line) for line in lines if line.startswith("{"))
        if one["event"] == event
    ]
    return times[0]


async def test_a_database_that_is_away_is_said_and_nobody_is_gone_when_it_is_back(
    fleet: Fleet,
) -> None:
    nodes = await fleet.ask("SELECT n FROM nodes WHERE NOT gone ORDER BY n")
    async with under_load(fleet) as senders:
        await asyncio.to_thread(fleet.server.stop, "immediate")
        back = asyncio.get_running_loop().time() + AWAY_S
        for node in fleet.nodes:
            await unready(node)
        acked, refused = len(senders.acked), senders.heard["503"]
        fleet.target.release()
        await asyncio.sleep(back - asyncio.get_running_loop().time())  # that it is away so long
        assert len(senders.acked) == acked
        assert senders.heard["503"] > refused
        for node in fleet.nodes:
            assert [await asked(node, "/readyz"), await asked(node, "/livez")] == [503, 200]
        await asyncio.to_thread(fleet.server.start)
        for node in fleet.nodes:
            await node.ready()
    assert senders.wrong == []
    assert set(senders.heard) == {"200", "503"}
    assert judge.lost(await read(fleet), senders.acked) == []
    assert await attempts_of_the_held(fleet) == [(1, "succeeded")]
    assert await fleet.ask("SELECT n FROM nodes WHERE NOT gone ORDER BY n") == nodes
    assert await fleet.ask("SELECT n FROM nodes WHERE gone") == []


async def test_a_router_that_is_cut_off_starts_no_work_before_another_takes_over(
    fleet: Fleet,
) -> None:
    async with under_load(fleet) as senders:
        off = await fleet.holder("held")
        [other] = [node for node in fleet.nodes if node is not off]
        numbers = await fleet.living(off)
        off.link.hold_up()
        await until(lambda: fleet.gone(numbers), "the router declared gone")
        await held(fleet, 2)  # the other one does what it did
        fleet.target.release()  # it has ended there too, and cannot say so
        off.link.mend()
        await off.ready()
        await until(lambda: fleet.living(off), "it is back under another number")
        fleet.target.release()
    assert await told(off, "no work is started") < await told(other, "a node is gone")
    assert senders.wrong == []
    assert judge.lost(await read(fleet), senders.acked) == []
    assert await attempts_of_the_held(fleet) == [(1, "interrupted"), (2, "succeeded")]
    calls = [(one.attempt, one.status) for one in fleet.target.calls if "/held/" in one.path]
    assert calls == [(1, 200), (2, 200)]
