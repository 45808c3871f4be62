"""
How soon another router goes on: with the work of one that is killed or cut off from the database,
and with what comes to one that has its hands full.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median

import httpx

from benchmarks.bench import Bench, WrongFigures
from benchmarks.figures import Row, at_most
from benchmarks.pace import percentile
from tests.acceptance.senders import code
from tests.fleet.campaign import all_ended
from tests.fleet.site import Fleet, Node, a_fleet, drawn, until
from tests.fleet.target import Call, Target
from tests.postgres.binaries import installed

KILLED_S, CUT_OFF_S, WAKE_MS = 4.0, 20.0, 50.0
BUSY = 1_000
"""
Deliveries with lower numbers are held by their target, and this one by that of those with higher
ones: each router may call that one once at a time.
"""
WAKES_EACH = 60
"""For each second of a load."""
PATIENCE_S = 30.0
ROUTERS = 2
RULES = (
    "retries: {quick: {schedule: [200ms, 500ms, 1s], jitter: 0}}\n"
    f"targets: {{sink: {{url: SINK}}, shared: {{url: SINK, concurrency: {ROUTERS}}}}}\n"
    "rules:\n"
    f"  - id: held\n    from: code\n    match: payload.number < {BUSY}\n"
    "    actions: [{id: call, retry: quick,"
    " http: {target: sink, path: '/held/{{ payload.number }}', timeout: 5m}}]\n"
    f"  - id: busy\n    from: code\n    match: payload.number == {BUSY}\n"
    "    actions: [{id: call, retry: quick,"
    " http: {target: shared, path: '/held/{{ payload.number }}', timeout: 5m}}]\n"
    f"  - id: quick\n    from: code\n    match: payload.number > {BUSY}\n"
    "    actions: [{id: call, retry: quick,"
    " http: {target: shared, path: '/quick/{{ payload.number }}'}}]\n"
)

_SHARING = """
    SELECT FROM shares s JOIN nodes n ON n.n = s.node AND NOT n.gone
    WHERE convert_from(s.given, 'utf8')::json #>> '{shared,0}' = '1'
    AND convert_from(n.report, 'utf8')::json ->> 'version' = s.version::text
"""
"""Routers that have one call of the target as their share, and know it."""


def rows(bench: Bench) -> Iterator[Row]:
    """Each takeover once a round, from the fault to the call by the other router."""
    found = asyncio.run(_measured(bench))
    yield at_most("takeover after SIGKILL, slowest", max(found.killed), "s", KILLED_S)
    yield Row("takeover after SIGKILL, median", median(found.killed), "s")
    yield at_most("takeover after a partition, slowest", max(found.cut_off), "s", CUT_OFF_S)
    yield Row("takeover after a partition, median", median(found.cut_off), "s")
    name = "first byte in at one, action of another"
    yield Row(f"{name}, p50", percentile(found.woken, 0.5) * 1000, "ms")
    yield at_most(f"{name}, p99", percentile(found.woken, 0.99) * 1000, "ms", WAKE_MS)


@dataclass
class Found:
    """Seconds."""

    killed: list[float]
    cut_off: list[float]
    woken: list[float]


async def _measured(bench: Bench) -> Found:
    binaries = next(installed())
    target = Target(drawn(1, "target"), _ok)
    folder = bench.folder / "takeover"
    async with (
        a_fleet(folder, binaries, ROUTERS, RULES, target) as fleet,
        httpx.AsyncClient(timeout=PATIENCE_S) as client,
    ):
        send = partial(_send, client)
        numbers = iter(range(1, BUSY))
        killed = [await _taken_over(fleet, send, next(numbers), _kill) for _ in range(bench.rounds)]
        cut_off = [
            await _taken_over(fleet, send, next(numbers), _cut_off) for _ in range(bench.rounds)
        ]
        woken = await _woken(fleet, send, WAKES_EACH * bench.seconds)
    bench.notes.append(f"{len(woken)} jobs were run by another router than had taken them")
    return Found(killed, cut_off, woken)


def _ok(_call: Call) -> int:
    return 200


Send = Callable[[Node, int], Awaitable[None]]


async def _send(client: httpx.AsyncClient, node: Node, number: int) -> None:
    request = code().request(node.router.url, number, now_ms=time.time_ns() // 1_000_000)
    answer = await client.send(request)
    if answer.status_code != httpx.codes.OK:
        raise WrongFigures(f"delivery {number}: {answer.status_code} {answer.text}")


# -- takeovers -----------------------------------------------------------------------------------


async def _taken_over(
    fleet: Fleet, send: Send, number: int, befall: Callable[[Node], Awaitable[None]]
) -> float:
    """Seconds from what befalls the router that runs a job to the call by the other one."""
    calls = fleet.target.calls
    await until(lambda: _shared(fleet), "both routers have their shares")
    await send(fleet.nodes[0], number)
    await _called(fleet, number, 1)
    holder = await fleet.holder("held")
    numbers = await fleet.living(holder)
    began = asyncio.get_running_loop().time()
    await befall(holder)
    await _called(fleet, number, 2)
    seconds = calls[-1].began - began
    fleet.target.release()
    fleet.target.release()
    holder.link.mend()
    if not holder.router.running:
        await holder.start()
    await holder.ready()
    await until(lambda: _again(fleet, holder, numbers), "the router has joined again")
    await until(lambda: all_ended(fleet), "the job has ended")
    return seconds


async def _kill(node: Node) -> None:
    node.router.kill()


async def _cut_off(node: Node) -> None:
    node.link.hold_up()


async def _called(fleet: Fleet, number: int, times: int) -> None:
    async def it_is() -> bool:
        path = f"/held/{number}"
        return sum(call.path == path for call in fleet.target.calls) == times

    await until(it_is, f"call {times} of delivery {number}")


async def _again(fleet: Fleet, node: Node, before: set[int]) -> bool:
    return bool(await fleet.living(node) - before)


# -- wakes ---------------------------------------------------------------------------------------


async def _woken(fleet: Fleet, send: Send, count: int) -> list[float]:
    """
    Seconds from the sending of a delivery to its call by the other router: the one to which it is
    sent may not call the target once more.
    """
    await send(fleet.nodes[0], BUSY)
    await _called(fleet, BUSY, 1)
    busy = await fleet.holder("busy")
    await until(lambda: _shared(fleet), "each router may call the target once at a time")
    took: dict[str, float] = {}
    for number in range(BUSY + 1, BUSY + 1 + count):
        began = asyncio.get_running_loop().time()
        await send(busy, number)
        call = await _next_call(fleet, f"/quick/{number}")
        took[call.job] = call.began - began
        while await fleet.ask("SELECT FROM queue WHERE rule = 'quick'"):
            pass
    fleet.target.release()
    await until(lambda: all_ended(fleet), "all jobs have ended")
    numbers = await fleet.living(busy)
    ran_by = await fleet.ask("SELECT job, split_part(lease, '/', 1)::integer FROM attempts")
    here = {f"job_{job}" for job, node in ran_by if node in numbers}
    if elsewhere := [seconds for job, seconds in took.items() if job not in here]:
        return elsewhere
    raise WrongFigures("no job was run by another router than had taken it")


async def _shared(fleet: Fleet) -> bool:
    return len(await fleet.ask(_SHARING)) == ROUTERS


async def _next_call(fleet: Fleet, path: str) -> Call:
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while asyncio.get_running_loop().time() < deadline:
        if fleet.target.calls[-1].path == path:
            return fleet.target.calls[-1]
        await asyncio.sleep(0.001)
    raise WrongFigures(f"{path} was not called")
