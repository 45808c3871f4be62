"""What every store does with nodes; with several of them, those that can be shared."""

import asyncio
from typing import Any

import pytest

from router.store.protocol import Store
from router.store.values import ALREADY, HELD, LOST, NodeSeen, Recovered
from tests.clocks import START_MS
from tests.conformance.fleet import Fleet, a_card
from tests.store_values import FAR, Maker, a_settlement, lease_one

NOBODY: frozenset[tuple[str, str]] = frozenset()
LONG_MS = 3_600_000


async def beaten(store: Store, node: str) -> tuple[NodeSeen, ...]:
    beats = await store.beat(node, a_card())
    assert beats is not None
    return beats.others


async def declared_gone(store: Store, by: str, node: str) -> None:
    (seen,) = [one for one in await beaten(store, by) if one.number == node]
    assert await store.declare_gone(node, seen.beats)


# Every store


async def test_each_start_has_a_number_of_its_own(store: Store) -> None:
    first, second = [await store.join(a_card()) for _ in range(2)]
    assert first
    assert second
    assert first != second
    assert "/" not in first + second


async def test_a_node_says_that_it_lives_and_what_it_is_now(store: Store) -> None:
    node = await store.join(a_card())
    assert [one.number for one in await store.reads.nodes()][-1:] == [node]
    changed: dict[str, Any] = {"generation": "1" * 16, "started_at": START_MS}
    changed |= {"skew_ms": -2_500, "unready": 'it\'s "stopping" \u2028'}
    changed |= {"secrets": {"shop": ("ab12", "cd34"), "\u2028": ("ef",)}}
    card = a_card("two", **changed)
    first, second = await store.beat(node, a_card()), await store.beat(node, card)
    assert first is not None
    assert second is not None
    assert second.now >= first.now >= START_MS
    assert node not in {one.number for one in first.others + second.others}
    (seen,) = [one for one in await store.reads.nodes() if one.number == node]
    assert (seen.card, seen.beats, seen.gone) == (card, 2, False)
    assert seen.last_beat_at == second.now


async def test_who_runs_is_not_lost(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    node = await store.join(a_card())
    await lease_one(store, lease=f"{node}/1")
    assert await store.reads.lost_nodes(node) == frozenset()


async def test_a_free_claim_is_had_and_prolonged(store: Store) -> None:
    node = await store.join(a_card())
    assert [await store.claim("upkeep", node, LONG_MS) for _ in range(2)] == [True, True]


# Several nodes


async def test_all_make_fingerprints_by_one_random_key(fleet: Fleet) -> None:
    keys = {(await fleet.open()).fingerprint_key for _ in range(2)}
    assert len(keys) == 1
    assert len(keys.pop()) >= 32


async def test_nodes_see_each_other(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card("a")), await b.join(a_card("b"))
    (seen,) = await beaten(a, one)
    assert (seen.number, seen.card, seen.closed, seen.gone) == (two, a_card("b"), False, False)
    card = a_card("b", version="1.1", generation="1" * 16)
    await b.beat(two, card)
    (later,) = await beaten(a, one)
    assert (later.beats, later.card) == (seen.beats + 1, card)
    assert [node.number for node in await b.reads.nodes()] == [one, two]


async def test_who_has_beaten_since_is_not_declared_gone(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    (seen,) = await beaten(a, one)
    await beaten(b, two)
    assert not await a.declare_gone(two, seen.beats)
    assert len(await beaten(b, two)) == 1


async def test_who_is_declared_gone_must_join_anew(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    (seen,) = await beaten(a, one)
    assert [await a.declare_gone(two, seen.beats) for _ in range(2)] == [True, True]
    assert await b.beat(two, a_card()) is None
    assert await beaten(a, one) == ()
    three = await b.join(a_card())
    assert three not in (one, two)
    assert [node.number for node in await beaten(a, one)] == [three]


async def test_that_a_connection_is_closed_is_known(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    assert [node.closed for node in await beaten(a, one)] == [False]
    await fleet.cut(b)
    (seen,) = await beaten(a, one)
    assert (seen.number, seen.closed, seen.gone) == (two, True, False)


async def test_a_claim_has_one_holder(fleet: Fleet) -> None:
    stores = [await fleet.open() for _ in range(4)]
    nodes = [await store.join(a_card()) for store in stores]
    asked = [store.claim("prune", node, LONG_MS) for store, node in zip(stores, nodes, strict=True)]
    had = await asyncio.gather(*asked)
    assert sum(had) == 1
    again = [await store.claim("prune", n, LONG_MS) for store, n in zip(stores, nodes, strict=True)]
    assert again == had
    other = nodes[had.index(False)]
    assert await stores[0].claim("silence", other, LONG_MS)


async def test_a_claim_ends_with_its_time_or_its_holder(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    assert await a.claim("prune", one, 0)
    assert await b.claim("prune", two, LONG_MS)
    assert not await a.claim("prune", one, LONG_MS)
    await declared_gone(a, one, two)
    assert await a.claim("prune", one, LONG_MS)


async def test_who_is_gone_has_no_claim(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    assert await b.claim("prune", two, LONG_MS)
    await declared_gone(a, one, two)
    assert not await b.claim("prune", two, LONG_MS)
    assert not await b.claim("another", two, LONG_MS)


@pytest.mark.long
async def test_a_start_leaves_a_living_node_s_jobs_alone(fleet: Fleet, make: Maker) -> None:
    a = await fleet.open()
    one = await a.join(a_card())
    await a.accept(make.acceptance(jobs=[make.job(rule=rule) for rule in "ab"]))
    jobs = [await lease_one(a, lease=f"{one}/{n}") for n in (1, 2)]
    for _ in range(3):
        b = await fleet.open()
        two = await b.join(a_card())
        lost = await b.reads.lost_nodes(two)
        assert one not in lost
        recovered = await b.recover(nodes=lost, now=FAR, on_interrupt_dead=NOBODY)
        assert recovered == Recovered(0, 0)
    assert [await a.reads.job(job.id) for job in jobs] == jobs
    for job in jobs:
        assert await a.settle(a_settlement(job)) == HELD


@pytest.mark.long
async def test_who_is_gone_is_taken_over_from_once(fleet: Fleet, make: Maker) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    await a.accept(make.acceptance(jobs=[make.job(rule=rule) for rule in "abc"]))
    batch = await a.lease({"erp": 3}, lease=f"{one}/1", now=FAR)
    first, *left = [work.job for work in batch.jobs]
    assert await a.settle(a_settlement(first)) == HELD
    await declared_gone(b, two, one)
    lost = await b.reads.lost_nodes(two)
    assert lost == {one}
    reclaims = [await b.recover(nodes=lost, now=FAR, on_interrupt_dead=NOBODY) for _ in range(2)]
    assert reclaims == [Recovered(len(left), 0), Recovered(0, 0)]
    assert await b.reads.lost_nodes(two) == frozenset()
    for job in left:
        kept = await b.reads.job(job.id)
        assert kept is not None
        assert (kept.state, kept.deaths) == ("available", 1)
        assert await a.settle(a_settlement(job)) == LOST
    again = await lease_one(b, lease=f"{two}/1")
    assert await a.settle(a_settlement(left[0])) == LOST
    assert await b.settle(a_settlement(again)) == HELD
    assert await a.settle(a_settlement(first)) == ALREADY
