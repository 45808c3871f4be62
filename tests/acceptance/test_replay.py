"""A large replay, and the real process killed in the middle of it."""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from typing import NamedTuple

import pytest

from tests import ledger
from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import ROOT, Rig
from tests.acceptance.senders import ENDPOINTS, shop
from tests.acceptance.test_operate import called
from tests.faults.kill import Client

pytestmark = pytest.mark.long

MANY = 4_000
MADE = 1
RULES = """
rules:
  - {id: told, from: shop, events: orders/paid, actions: {log: "order {{ payload.id }}"}}
"""
CONNECTIONS = 8
BIG = ("replay", "--endpoint", "shop", "--as", "big", "--rate", "none", "--yes")


async def fill(rig: Rig) -> None:
    """Send deliveries that no rule wants yet."""
    client = Client(rig.listen, shop(), int(time.time() * 1000))

    async def some(numbers: range) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", rig.listen)
        for number in numbers:
            await client.send(number, reader, writer)
        writer.close()

    await asyncio.gather(*[some(range(n, MANY, CONNECTIONS)) for n in range(CONNECTIONS)])
    assert (len(client.acked), client.refused) == (MANY, [])


class Progress(NamedTuple):
    """How far the replay is. `made`: all its jobs are."""

    made: bool
    jobs: int


def progress(rig: Rig) -> Progress:
    """As the store's file tells it."""
    with closing(ledger.connect(rig.store)) as db:
        row = db.execute("SELECT state, jobs FROM replays WHERE id = 'big'").fetchone()
    return Progress(False, 0) if row is None else Progress(row[0] == MADE, row[1])


def origins(rig: Rig) -> Counter[str]:
    """How often each delivery was replayed."""
    with closing(ledger.connect(rig.store)) as db:
        rows = db.execute("SELECT replay_of FROM jobs WHERE replay IS NOT NULL").fetchall()
    return Counter(origin for (origin,) in rows)


def test_a_killed_replay_goes_on_and_makes_nothing_twice(make_rig: MakeRig) -> None:
    rig = make_rig("rules: []\n")
    with rig.router() as router:
        asyncio.run(fill(rig))
        assert router.stop() == 0
    rig.write(ENDPOINTS + RULES)
    with rig.router() as router:
        command = [sys.executable, "-m", "router", *BIG, "-f", str(rig.path)]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as asking:
            router.until(lambda: progress(rig).jobs > 0, "some jobs")
            router.kill()
            assert asking.wait(30) != 0  # it cannot know
    halfway = progress(rig)
    assert not halfway.made
    assert 0 < halfway.jobs < MANY
    assert origins(rig).total() == halfway.jobs
    with rig.router() as router:
        router.until(lambda: progress(rig).made, "the rest", seconds=60)
        assert set(origins(rig).values()) == {1}
        assert len(origins(rig)) == MANY
        code, out, _ = called(rig, *BIG)
        assert (code, out.splitlines()[0]) == (0, f"{MANY} jobs of {MANY} deliveries replayed")
        assert len(origins(rig)) == origins(rig).total() == MANY
        assert called(rig, "cancel", "--replay", "big", "--yes")[0] == 0
        [line, *_] = [x for x in called(rig, "audit")[1].splitlines() if " replay " in x]
        assert str(MANY) in line
