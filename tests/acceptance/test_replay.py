"""A large replay, and the real process killed in the middle of it."""

import asyncio
import subprocess
import sys
from collections import Counter

import pytest

from router.clock import SystemClock
from router.model.operations import Replay
from router.store.sqlite.reader import open_reader
from router.store.sqlite.store import open_store
from router.store.values import Acceptance, Selector
from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import ROOT, Rig
from tests.acceptance.test_operate import called
from tests.builders import a_delivery, an_event

pytestmark = pytest.mark.long

MANY = 4_000
RULES = """
rules:
  - {id: told, from: shop, events: orders/paid, actions: {log: "order {{ payload.id }}"}}
"""
HEADS = (("x-shopify-topic", "orders/paid"),)
BIG = ("replay", "--endpoint", "shop", "--as", "big", "--rate", "none", "--yes")


async def fill(rig: Rig) -> None:
    """Deliveries that no rule wanted when they came."""
    store = await open_store(str(rig.store), clock=SystemClock())
    for start in range(0, MANY, 200):
        await asyncio.gather(*[store.accept(_unmatched(n)) for n in range(start, start + 200)])
    await store.close()


def _unmatched(n: int) -> Acceptance:
    event = an_event(id=f"evt_{n}")
    body = b'{"id": %d}' % n
    delivery = a_delivery(
        id=f"dlv_{n:026d}",
        provider="commerce",
        received_at=SystemClock().now(),
        state="unmatched",
        headers=HEADS,
        body=body,
    )
    return Acceptance(delivery, (event,), ())


def replay_of(rig: Rig) -> Replay | None:
    """How far it is, as a reader beside the server sees it."""

    async def read() -> Replay | None:
        reader = open_reader(str(rig.store))
        try:
            return await reader.replay("big")
        finally:
            await reader.close()

    return asyncio.run(read())


def origins(rig: Rig) -> Counter[str | None]:
    """How often each delivery was replayed."""

    async def read() -> Counter[str | None]:
        reader = open_reader(str(rig.store))
        try:
            jobs = await reader.jobs(Selector(replay="big", limit=2 * MANY))
        finally:
            await reader.close()
        return Counter(job.replay_of for job in jobs)

    return asyncio.run(read())


def test_a_killed_replay_goes_on_and_makes_nothing_twice(make_rig: MakeRig) -> None:
    rig = make_rig(RULES)
    asyncio.run(fill(rig))
    with rig.router() as router:
        command = [sys.executable, "-m", "router", *BIG, "-f", str(rig.path)]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as asking:
            router.until(lambda: (replay_of(rig) or _none()).jobs > 0, "some jobs")
            router.kill()
            assert asking.wait(30) != 0  # it cannot know
    halfway = replay_of(rig)
    assert halfway is not None
    assert halfway.state == "making"
    assert 0 < halfway.jobs < MANY
    assert origins(rig).total() == halfway.jobs
    with rig.router() as router:
        router.until(lambda: (replay_of(rig) or _none()).state == "made", "the rest", seconds=60)
        assert set(origins(rig).values()) == {1}
        assert len(origins(rig)) == MANY
        code, out, _ = called(rig, *BIG)
        assert (code, out.splitlines()[0]) == (0, f"{MANY} jobs of {MANY} deliveries replayed")
        assert len(origins(rig)) == origins(rig).total() == MANY
        assert called(rig, "cancel", "--replay", "big", "--yes")[0] == 0
        [line, *_] = [x for x in called(rig, "audit")[1].splitlines() if " replay " in x]
        assert str(MANY) in line


def _none() -> Replay:
    return Replay("", {}, 0)
