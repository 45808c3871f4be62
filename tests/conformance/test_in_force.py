"""
One of several generations is in force for all nodes: what waits because of rules goes by it.

Two nodes whose rules differed undid each other's holds and groups with every turn of their upkeep.
"""

from router.model.job import Group
from router.store.protocol import Store
from router.store.sqlite.in_force import KEPT
from router.store.values import NEW_MS, InForce
from tests.clocks import START_MS, ManualClock
from tests.conformance.fleet import Fleet, a_card
from tests.conformance.rig import Rig
from tests.store_values import Maker

PAUSED = frozenset({"paid"})


async def put(store: Store, generation: str, by: str) -> int:
    """The number of what is in force then."""
    await store.put_in_force(generation, by=by, at=START_MS)
    found = await store.reads.in_force()
    assert found is not None
    return found.seq


async def test_the_rules_of_who_started_or_reloaded_last_are_in_force(store: Store) -> None:
    assert await store.reads.in_force() is None
    await store.put_in_force("g1", by="n1", at=START_MS)
    assert await store.reads.in_force() == InForce(1, "g1", START_MS)
    await store.put_in_force("g2", by="n2", at=START_MS + 7)
    assert await store.reads.in_force() == InForce(2, "g2", START_MS + 7)
    assert await put(store, "g1", "n3") == 3, "that another had them earlier is no matter"


async def test_a_node_that_restarts_with_what_it_had_puts_nothing_in_force(store: Store) -> None:
    """Else an old one would put its rules in force again, in the middle of a deployment."""
    await put(store, "g1", "n1")
    assert await put(store, "g1", "n1") == 1
    await put(store, "g2", "n2")
    assert await put(store, "g1", "n1") == 2
    assert await store.reads.in_force() == InForce(2, "g2", START_MS)
    assert await put(store, "g2", "n1") == 3, "it was given them"
    assert await put(store, "g1", "n1") == 4, "and then the first again"


async def test_numbers_go_on_though_old_rows_go(store: Store) -> None:
    await put(store, "g", "first")
    for n in range(1, KEPT + 1):
        await put(store, f"g{n % 2}", "n")
    assert await put(store, f"g{KEPT % 2}", "n") == KEPT + 1


async def test_of_two_nodes_only_the_one_whose_rules_are_in_force_holds(
    store: Store, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(rule="other")]))

    async def hold(paused: frozenset[str], generation: str) -> int:
        return await store.hold(paused, generation=generation, now=START_MS)

    await put(store, "old", "n1")
    await put(store, "new", "n2")
    assert await hold(PAUSED, "new") == 1
    assert await hold(frozenset(), "old") == 0, "it would have let go"
    assert await hold(PAUSED | {"other"}, "old") == 0, "and held another"
    assert (await store.reads.counts())["paid"] == {"waiting": 1}
    await put(store, "old", "n3")
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

    await put(rig.store, "old", "n1")
    await put(rig.store, "new", "n2")
    assert await regroup(2, "new") == 3
    assert await regroup(1, "old") == 0
    assert (await rig.store.reads.counts())["deploy"] == {"available": 2, "waiting": 1}
    await put(rig.store, "old", "n3")
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
    await put(a, "old", "n1")
    await put(b, "new", "n2")
    assert await b.hold(PAUSED, generation="new") == 1
    assert await a.hold(frozenset(), generation="old") == 0
    assert await b.beat(two, a_card(generation="new")) is not None
    await clock.advance(NEW_MS / 1000)
    assert await a.hold(frozenset(), generation="old") == 0
    assert await a.declare_gone(two, 1)
    assert await a.hold(frozenset(), generation="old") == 1
