"""What nodes are given of targets' limits: kept, told, and divided by one of them at a time."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from router.model.share import NO_REPORT, ShareReport, ShareRow, Shares, TargetShare, TargetUse
from router.store.protocol import Store
from router.store.values import NodeLoad
from tests.clocks import START_MS
from tests.conformance.fleet import Fleet, a_card
from tests.store_values import FAR, Maker, lease_one

TTL_MS = 3_600_000
GENERATION, OTHER = "0" * 16, "1" * 16
TWO, ONE = TargetShare(2, 0.5), TargetShare(1, None)
NOBODY: frozenset[tuple[str, str]] = frozenset()


class Dividing:
    """A division that gives each node what `given` says, and notes the rows that it was given."""

    def __init__(self, **given: TargetShare) -> None:
        self.given = {f"https://{name}.example.net": share for name, share in given.items()}
        self.rows: Sequence[ShareRow] = ()
        self.calls = 0

    def __call__(self, rows: Sequence[ShareRow]) -> list[ShareRow]:
        self.rows, self.calls = rows, self.calls + 1
        held = {"erp": ONE}
        return [
            replace(row, shares=Shares(row.shares.version + 1, self.given), held=held)
            for row in rows
            if not row.gone
        ]

    def nodes(self) -> list[str]:
        return [row.node for row in self.rows]


async def divided(store: Store, node: str, division: Dividing) -> Shares:
    shares = await store.divide(node, division, generation=GENERATION, ttl_ms=TTL_MS)
    assert shares is not None
    return shares


async def told(store: Store, node: str, report: ShareReport = NO_REPORT) -> Shares | None:
    beats = await store.beat(node, a_card(), report)
    assert beats is not None
    return beats.shares


async def test_whoever_has_a_store_alone_has_no_share(store: Store) -> None:
    node = await store.join(a_card())
    shares = await store.divide(node, Dividing(a=TWO), generation=GENERATION, ttl_ms=TTL_MS)
    assert (shares is None) == (not store.shared)
    assert (await told(store, node) is None) == (not store.shared)
    assert bool(await store.reads.node_loads()) == store.reads.shared == store.shared


async def test_a_node_is_told_what_it_was_given_until_it_goes_by_it(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    assert await told(b, two) is None
    division = Dividing(a=TWO, b=ONE)
    given = Shares(1, division.given)
    assert await divided(a, one, division) == given
    assert division.rows == [ShareRow(one), ShareRow(two)]
    assert [await told(b, two) for _ in range(2)] == [given, given]
    assert await told(b, two, ShareReport(1)) is None
    assert await told(a, one, ShareReport(1)) is None


async def test_a_division_knows_what_is_held_and_what_the_nodes_said_last(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    await divided(a, one, Dividing(a=TWO))
    report = ShareReport(1, {"erp": TargetUse(1, 3), "rule/sh": TargetUse(0, 4)})
    await told(b, two, ShareReport(0, {"crm": TargetUse(5, 5)}))
    await told(b, two, report)
    again = Dividing()
    assert await divided(a, one, again) == Shares(2, {})
    first = Shares(1, Dividing(a=TWO).given)
    assert list(again.rows) == [
        ShareRow(one, first, {"erp": ONE}),
        ShareRow(two, first, {"erp": ONE}, report),
    ]


async def test_what_nodes_may_use_and_what_they_run_is_told_by_node(
    fleet: Fleet, make: Maker
) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    assert await a.reads.node_loads() == {}
    for _ in range(3):
        await a.accept(make.acceptance())
    jobs = [await lease_one(s, lease=f"{n}/1") for s, n in ((a, one), (b, two), (a, "77"))]
    target = jobs[0].target
    await divided(a, one, Dividing(a=TWO))
    given = Dividing(a=TWO).given
    loads = await b.reads.node_loads()
    assert loads == {
        one: NodeLoad(given, {target: 1}),
        two: NodeLoad(given, {target: 1}),
        "77": NodeLoad({}, {target: 1}),
    }


async def test_what_does_not_change_is_not_told_again(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    await divided(a, one, Dividing(a=TWO))
    kept = await a.divide(one, lambda rows: rows[:0], generation=GENERATION, ttl_ms=TTL_MS)
    assert kept == Shares(1, Dividing(a=TWO).given)
    assert await told(b, two, ShareReport(1)) is None


async def test_one_node_divides_at_a_time(fleet: Fleet) -> None:
    stores = [await fleet.open() for _ in range(4)]
    nodes = [await store.join(a_card()) for store in stores]
    divisions = [Dividing(a=TWO) for _ in stores]
    asked = [
        store.divide(node, division, generation=GENERATION, ttl_ms=TTL_MS)
        for store, node, division in zip(stores, nodes, divisions, strict=True)
    ]
    found = await asyncio.gather(*asked)
    assert sorted(one is not None for one in found) == [False, False, False, True]
    assert [bool(one.calls) for one in divisions] == [one is not None for one in found]
    assert not await stores[0].claim("shares", nodes[found.index(None)], TTL_MS)


async def test_another_goes_on_when_the_time_is_over_or_the_node_is_gone(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    assert await a.divide(one, Dividing(a=TWO), generation=GENERATION, ttl_ms=0) is not None
    assert await divided(b, two, Dividing(a=ONE)) == Shares(2, Dividing(a=ONE).given)
    refused = Dividing()
    assert await a.divide(one, refused, generation=GENERATION, ttl_ms=TTL_MS) is None
    assert await a.declare_gone(two, 0)
    assert await b.divide(two, refused, generation=GENERATION, ttl_ms=TTL_MS) is None
    assert refused.calls == 0
    assert (await divided(a, one, Dividing())).version == 3


async def test_only_by_the_rules_in_force(fleet: Fleet) -> None:
    """And whose are not leaves the claim to others."""
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    await a.put_in_force(GENERATION, by="a", at=FAR)
    division = Dividing(a=TWO)
    assert await a.divide(one, division, generation=OTHER, ttl_ms=TTL_MS) is None
    assert division.calls == 0
    assert await divided(b, two, division) == Shares(1, division.given)


async def test_when_nobody_lives_who_has_the_rules_in_force_it_goes_by_those_before(
    fleet: Fleet,
) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card(generation=OTHER)), await b.join(a_card())
    await a.put_in_force(OTHER, by="a", at=START_MS)
    await b.put_in_force(GENERATION, by="b", at=START_MS)
    division = Dividing(a=TWO)
    assert await a.divide(one, division, generation=OTHER, ttl_ms=TTL_MS) is None
    assert await b.declare_gone(two, 0)
    assert await a.divide(one, division, generation=OTHER, ttl_ms=TTL_MS) is not None


async def test_until_a_node_has_what_is_published_it_goes_by_the_rules_before(
    fleet: Fleet,
) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    await a.put_in_force(GENERATION, by="a", at=START_MS)
    await a.put_in_force(OTHER, by="an operator", at=START_MS)
    first = await a.divide(one, Dividing(a=TWO), generation=GENERATION, ttl_ms=0)
    assert first is not None
    assert await b.beat(two, a_card(generation=OTHER)) is not None
    assert await a.divide(one, Dividing(a=ONE), generation=GENERATION, ttl_ms=TTL_MS) is None
    assert await b.divide(two, Dividing(a=ONE), generation=OTHER, ttl_ms=TTL_MS) is not None


async def test_who_is_gone_counts_until_its_jobs_are_reclaimed(fleet: Fleet, make: Maker) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    await divided(a, one, Dividing(a=TWO))
    await b.accept(make.acceptance())
    await lease_one(b, lease=f"{two}/1")
    assert await a.declare_gone(two, 0)
    division = Dividing(a=ONE)
    await divided(a, one, division)
    gone = ShareRow(two, Shares(1, Dividing(a=TWO).given), {"erp": ONE}, gone=True)
    assert list(division.rows)[1:] == [gone]
    assert await a.reads.lost_nodes(one) == {two}
    await a.recover(nodes=[two], now=FAR, on_interrupt_dead=NOBODY)
    await divided(a, one, division)
    assert division.nodes() == [one]


async def test_who_is_gone_and_ran_nothing_counts_no_more(fleet: Fleet) -> None:
    a, b = await fleet.open(), await fleet.open()
    one, two = await a.join(a_card()), await b.join(a_card())
    await divided(a, one, Dividing(a=TWO))
    assert await a.declare_gone(two, 0)
    division = Dividing(a=TWO)
    await divided(a, one, division)
    assert division.nodes() == [one]
