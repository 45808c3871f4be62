"""
Several routers at once on one ledger: killed, stopped, cut off. `python -m tests.sim --only shared`
lives more of them.
"""

from collections import Counter

from tests.sim.seeds import chosen, named
from tests.sim.shared import broken, lived

SEEDS = chosen(3)


def test_whatever_becomes_of_some_all_is_kept_once_and_done_once() -> None:
    """And the seeds do put it to the test: nodes are taken over from, and fenced."""
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        with named(seed):
            world = lived(seed)
            assert broken(world) == []
        seen += world.seen
        seen["reclaimed"] += sum(world.history.reclaimed.values())
    if len(SEEDS) > 1:
        assert min(seen[what] for what in ("gone", "reclaimed", "fenced")) > 0, seen


def test_the_same_seed_gives_the_same_life() -> None:
    first, second = lived(3), lived(3)
    assert first.history.attempts == second.history.attempts
    assert first.seen == second.seen
