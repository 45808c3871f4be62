"""Dispatch under a virtual clock and a seeded scheduler, with crashes and a failing store."""

import random
from collections import Counter

from router.model.settings import OWN
from tests.sim.ledger import Ledger
from tests.sim.loop import simulate
from tests.sim.seeds import BATCHES, named
from tests.sim.world import POISON, POLICY, World, live_through

LONGEST = len(POLICY.schedule_ms) + 2 + 1  # a temporary failure adds the two delays of `short`


async def _lived(rng: random.Random) -> World:
    world = World(rng)
    await live_through(world)
    return world


def checked(seed: int) -> World:
    rng = random.Random(seed)
    world: World = simulate(_lived(rng), rng)
    ledger = world.ledger
    assert world.jobs > 0
    assert ledger.wrong == []
    spent = Counter(a.job for a in ledger.attempts if a.outcome != "interrupted")
    for job in ledger.records.values():
        assert job.charged == spent[job.id], f"{job.id}: only our own doing is free"
        assert len(ledger.ends[job.id]) == 1, f"{job.id} ended {ledger.ends[job.id]}"
        chances = LONGEST + ledger.second_chances[job.id]
        assert world.runs[job.id] <= chances, f"{job.id} ran {world.runs[job.id]} times"
        if job.reason == "crash_loop":
            assert job.deaths == 3
        if POISON in job.id and job.event != "unrenderable":
            assert job.reason == "crash_loop", f"{job.id} {job.state} {job.reason}"
        if job.event == "unrenderable" and job.state == "dead":
            assert world.runs[job.id] == 0
    _each_death_is_reported_once(ledger)
    return world


def _each_death_is_reported_once(ledger: Ledger) -> None:
    """Whoever found the job dead, and however often: one event, and none of what an event made."""
    own = [d for d in ledger.deliveries_.values() if d.endpoint == OWN]
    reported = Counter(delivery.path.partition("/")[0] for delivery in own)
    dead = [j.id for j in ledger.records.values() if j.state == "dead" and j.endpoint != OWN]
    assert reported == Counter(dead)
    assert {j.endpoint for j in ledger.records.values() if j.event == "job.dead"} <= {OWN}


@BATCHES
def test_i17_i19_i22_i26_every_job_ends_once_whatever_happens(seeds: list[int]) -> None:
    for seed in seeds:
        with named(seed):
            checked(seed)


def test_the_same_seed_gives_the_same_run() -> None:
    first, second = checked(7), checked(7)
    assert first.runs == second.runs
    assert [a.ended_at for a in first.ledger.attempts] == [
        a.ended_at for a in second.ledger.attempts
    ]
