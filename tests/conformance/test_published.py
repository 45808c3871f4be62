"""
One of several generations is in force for all nodes: what waits because of rules goes by it.

Two nodes whose rules differed undid each other's holds and groups with every turn of their upkeep.
"""

import pytest

from router.errors import PublishedMeanwhile
from router.model.job import Group
from router.store.common.publications import AGREE_MS, KEPT
from router.store.protocol import Store
from router.store.values import Publication
from tests.clocks import START_MS, ManualClock
from tests.conformance.fleet import Fleet, a_card
from tests.conformance.rig import Rig
from tests.store_values import Maker

PAUSED = frozenset({"paid"})


async def published(store: Store, generation: str, by: str, after: int | None = None) -> int:
    """The number of what is in force then."""
    return (await store.publish(generation, by=by, at=START_MS, after=after)).seq


async def test_what_was_published_last_is_in_force(store: Store) -> None:
    assert await store.reads.published() is None
    first = await store.publish("g1", by="n1", at=START_MS)
    assert first == await store.reads.published() == Publication(1, "g1", "n1", START_MS)
    assert await store.publish("g2", by="n2", at=START_MS + 7) == Publication(
        2, "g2", "n2", START_MS + 7
    )
    assert await published(store, "g1", "n3") == 3, "that another had them earlier is no matter"


async def test_a_shared_store_keeps_what_the_rules_need_of_the_publisher_s_machine(
    fleet: Fleet,
) -> None:
    store, local = await fleet.open(), {"secrets.shop": ("ab12", "cd34")}
    first = await store.publish("g1", by="n1", at=START_MS, local=local)
    assert first == Publication(1, "g1", "n1", START_MS, local)
    assert await (await fleet.open()).reads.published() == first
    assert (await store.publish("g2", by="n1", at=START_MS)).local == {}


async def test_a_node_that_restarts_with_what_it_had_publishes_nothing(store: Store) -> None:
    """Else an old one would put its rules in force again, in the middle of a deployment."""
    await published(store, "g1", "n1")
    assert await published(store, "g1", "n1") == 1
    await published(store, "g2", "n2")
    assert await published(store, "g1", "n1") == 2
    assert await store.reads.published() == Publication(2, "g2", "n2", START_MS)
    assert await published(store, "g2", "n1") == 3, "it was given them"
    assert await published(store, "g1", "n1") == 4, "and then the first again"


async def test_who_says_what_was_in_force_publishes_in_any_case_or_hears_who_was_first(
    store: Store,
) -> None:
    with pytest.raises(PublishedMeanwhile):
        await published(store, "g1", "n1", after=1)
    assert await published(store, "g1", "n1", after=0) == 1
    assert await published(store, "g2", "n2", after=1) == 2
    for wrong in (0, 1, 3):
        with pytest.raises(PublishedMeanwhile, match="n2"):
            await published(store, "g1", "n1", after=wrong)
    assert await published(store, "g1", "n1", after=2) == 3, "what it published last"


async def test_numbers_go_on_though_old_publications_go(store: Store) -> None:
    await published(store, "g", "first")
    for n in range(1, KEPT + 1):
        await published(store, f"g{n % 2}", "n")
    assert await published(store, f"g{KEPT % 2}", "n") == KEPT + 1


async def test_of_two_nodes_only_the_one_whose_rules_are_in_force_holds(
    store: Store, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(rule="other")]))

    async def hold(paused: frozenset[str], generation: str) -> int:
        return await store.hold(paused, generation=generation, now=START_MS)

    await published(store, "old", "n1")
    await published(store, "new", "n2")
    assert await hold(PAUSED, "new") == 1
    assert await hold(frozenset(), "old") == 0, "it would have let go"
    assert await hold(PAUSED | {"other"}, "old") == 0, "and held another"
    assert (await store.reads.counts())["paid"] == {"waiting": 1}
    await published(store, "old", "n1", after=2)
    assert await hold(PAUSED, "new") == 0
    assert await hold(frozenset({"other"}), "old") == 2
    assert await hold(PAUSED, "new") == 0
    counts = await store.reads.counts()
    assert (counts["paid"], counts["other"]) == ({"available": 1}, {"waiting": 1})


async def test_of_two_nodes_only_the_one_whose_rules_are_in_force_regroups(rig: Rig) -> None:
    for _ in range(3):
        await rig.accept(group=Group(1))

    async def regroup(limit: int, generation: str) -> int:
        groups = {"deploy": Group(limit)}
        return await rig.store.regroup(groups, generation=generation, now=START_MS)

    await published(rig.store, "old", "n1")
    await published(rig.store, "new", "n2")
    assert await regroup(2, "new") == 3
    assert await regroup(1, "old") == 0
    assert (await rig.store.reads.counts())["deploy"] == {"available": 2, "waiting": 1}
    await published(rig.store, "old", "n1", after=2)
    assert await regroup(2, "new") == 0
    assert await regroup(3, "old") == 3
    assert (await rig.store.reads.counts())["deploy"] == {"available": 3}


async def test_rules_whose_last_node_is_gone_are_in_force_until_all_could_have_followed(
    fleet: Fleet, clock: ManualClock, make: Maker
) -> None:
    """Nobody undoes what a node does that has just published them and has not said so yet."""
    a, b = await fleet.open(), await fleet.open()
    await a.join(a_card(generation="old"))
    two = await b.join(a_card(generation="old"))
    await a.accept(make.acceptance())
    await published(a, "old", "n1")
    await published(b, "new", "n2")
    assert await b.hold(PAUSED, generation="new") == 1
    assert await a.hold(frozenset(), generation="old") == 0
    assert await b.beat(two, a_card(generation="new")) is not None
    await clock.advance(AGREE_MS / 1000)
    assert await a.hold(frozenset(), generation="old") == 0
    assert await a.declare_gone(two, 1)
    assert await a.hold(frozenset(), generation="old") == 1
