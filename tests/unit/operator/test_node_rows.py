"""Nodes as an operator sees them."""

from typing import Any

import pytest
from msgspec.structs import replace

from router.legible import moment
from router.model.share import TargetShare
from router.operator.attention import of_nodes
from router.operator.node_rows import NodeShare, node_rows
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.store.values import LATE_S, STOPPING, NodeCard, NodeLoad, NodeSeen
from tests.builders import NOW, a_rule, a_ruleset
from tests.clocks import ManualClock
from tests.conformance.model_store import ModelStore
from tests.operators import questions_of

CARD = NodeCard("n", "1", "g")
LATE_MS = int(LATE_S * 1000)


@pytest.mark.parametrize(
    ("age", "says", "gone", "unready"),
    [
        (0, None, False, None),
        (LATE_MS, "its clock is off", False, "its clock is off"),
        (LATE_MS, None, False, None),
        (LATE_MS + 1, "its clock is off", False, "its last beat was 10 s ago"),
        (-5, None, False, None),
        (LATE_MS + 1, "its clock is off", True, "it is gone"),
    ],
)
def test_what_others_see_of_a_node_counts_more_than_what_it_says(
    age: int, says: str | None, gone: bool, unready: str | None
) -> None:
    card = NodeCard("n", "1", "g", unready=says)
    (row,) = node_rows([NodeSeen("1", card, 1, NOW - age, gone=gone)], {}, NOW)
    assert (row.unready, row.beat_age_ms) == (unready, max(0, age))
    assert row.started_at is None, "not said yet"


@pytest.mark.parametrize(
    ("says", "other", "lost"),
    [
        (None, None, True),
        ("the store is nearly full", None, True),
        (STOPPING, None, False),
        (None, NodeCard("n", "1", "g", started_at=NOW - 500), False),  # in its place
        (None, NodeCard("n", "1", "g", started_at=NOW - 5_000), True),  # was beside it
        (None, NodeCard("n", "1", "g", started_at=NOW - 9_000), False),  # itself, joined anew
        (None, NodeCard("m", "1", "g", started_at=NOW - 500), True),
    ],
)
def test_a_router_that_nobody_stopped_is_lost_until_another_runs_in_its_place(
    says: str | None, other: NodeCard | None, lost: bool
) -> None:
    card = NodeCard("n", "1", "g", started_at=NOW - 9_000, unready=says)
    seen = [NodeSeen("1", card, 1, NOW - 1_000, gone=True)]
    seen += [NodeSeen("2", other, 1, NOW)] if other else []
    rows = node_rows(seen, {}, NOW)
    assert rows[0].lost is lost
    text = f"the router n (#1) has not been seen since {moment(NOW - 1_000)}"
    assert [(one.text, one.command) for one in of_nodes(rows)] == [
        (text, "router store info")
    ] * lost


def test_of_routers_of_one_name_that_died_one_after_another_only_the_last_is_lost() -> None:
    cards = [NodeCard("n", "1", "g", started_at=NOW - age) for age in (9_000, 5_000)]
    seen = [NodeSeen("1", cards[0], 1, NOW - 6_000, gone=True)]
    seen += [NodeSeen("2", cards[1], 1, NOW - 1_000, gone=True)]
    assert [row.lost for row in node_rows(seen, {}, NOW)] == [False, True]


async def test_the_store_the_clock_and_what_is_published_are_asked() -> None:
    clock = ManualClock(NOW)
    store: Any = ModelStore(clock)
    one, two = await store.join(CARD), await store.join(replace(CARD, generation="h"))
    await store.put_in_force("g", by="n", at=NOW)
    await clock.advance(2)
    await store.beat(two, replace(CARD, generation="h"))
    live = LiveRef(LiveRuleset(a_ruleset(a_rule("paid")), SecretValues({}, {})))
    found = await questions_of(store.reads, live, clock).nodes()
    told = [(row.number, row.beat_age_ms) for row in found.nodes]
    assert told == [(one, 2_000), (two, 0)]
    assert (found.in_force, found.differ) == ("g", True)
    await store.declare_gone(two, 1)
    assert not (await questions_of(store.reads, live, clock).nodes()).differ


def test_shares_and_jobs_of_a_target_stand_together() -> None:
    load = NodeLoad({"b": TargetShare(2, None), "a": TargetShare(1, 0.5)}, {"b": 2, "c": 1})
    nodes = [NodeSeen(number, CARD, 1, NOW) for number in ("1", "2")]
    one, two = node_rows(nodes, {"2": load}, NOW)
    assert (one.running, one.shares) == (0, ())
    assert two.running == 3
    assert two.shares == (
        NodeShare("a", 1, 0.5, 0), NodeShare("b", 2, None, 2), NodeShare("c", 0, 0.0, 1),
    )  # fmt: skip
