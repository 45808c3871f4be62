"""`jobs.dead` on every store: a thousand deaths are two events, and a restart loses none."""

from collections.abc import Mapping
from typing import Any

import pytest

from router.config import load, render_text
from router.errors import StoreUnavailable
from router.providers import own
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.alerts import Alerts
from router.serving.death_alerts import INTERVAL_MS, DeathAlerts
from router.store.protocol import Store
from router.store.values import Selector
from tests.clocks import ManualClock
from tests.conformance.rig import DATABASES
from tests.store_values import FAR, Maker, a_settlement, lease_one

RULES = "version: 1\nrules: [{id: call, from: router, events: EVENT, actions: {log: x}}]\n"
INTERVAL_S = INTERVAL_MS / 1000
pytestmark = pytest.mark.parametrize("store", DATABASES, indirect=True)


REDACTING = """\
version: 1
endpoints:
  shop: {paths: /shop, provider: shopify, verify: none, redact: payload.email}
  open: {paths: /open, provider: shopify, verify: none}
rules:
  - {id: call, from: router, events: jobs.dead, actions: {log: x}}
  - {id: paid, from: shop, actions: {log: x}}
  - {id: other, from: open, actions: {log: x}}
"""


def a_live(event: str = "jobs.dead", rules: str = RULES) -> LiveRef:
    loaded = load(rules.replace("EVENT", event), path="rules.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    return LiveRef(LiveRuleset(loaded.ruleset, SecretValues({}, {})))


class Node:
    """What one process knows; another one on the same store is a restart."""

    def __init__(
        self, store: Store, make: Maker, clock: ManualClock, event: str, rules: str = RULES
    ) -> None:
        self.store, self.make, self.clock = store, make, clock
        self.sent: list[Mapping[str, Any]] = []
        self.fails = False
        alerts = Alerts(store, self._send)
        self.step = DeathAlerts(
            live=a_live(event, rules),
            reads=store.reads,
            hide=lambda text: text.replace("hunter2", "***"),
            clock=clock,
            alerts=alerts,
        ).step

    async def _send(self, event: str, _identity: str, payload: Mapping[str, Any]) -> bool:
        assert event == "jobs.dead"
        if self.fails:
            raise StoreUnavailable("not now")
        self.sent.append(payload)
        return True

    def restarted(self) -> "Node":
        return Node(self.store, self.make, self.clock, "jobs.dead")

    async def die(self, jobs: int, reason: str = "status 503", **given: Any) -> None:
        """So many jobs of one delivery die."""
        endpoint = given.pop("endpoint", "shop")
        made = [self.make.job(**given) for _ in range(jobs)]
        await self.store.accept(self.make.acceptance(jobs=made, endpoint=endpoint))
        batch = await self.store.lease({made[0].target: jobs}, lease="b.1", now=FAR)
        ends = [a_settlement(one.job, "dead", reason=reason) for one in batch.jobs]
        assert all(await self.store.settle_all([(end, None) for end in ends]))

    async def told(self, seconds: float = 10) -> list[int]:
        """How many were new in each event by then."""
        await self.clock.advance(seconds)
        await self.step()
        return [payload["new"] for payload in self.sent]


@pytest.fixture
def node(store: Store, make: Maker, clock: ManualClock) -> Node:
    return Node(store, make, clock, "jobs.dead")


@pytest.mark.long
async def test_a_thousand_deaths_are_one_event_now_and_one_later(node: Node) -> None:
    await node.die(1)
    assert await node.told() == [1]
    for _ in range(9):
        await node.die(111)
    assert await node.told() == [1], "the next waits"
    node = node.restarted()
    assert await node.told(INTERVAL_S - 20) == [], "after a restart too"
    assert await node.told() == [999]
    (payload,) = node.sent
    assert (payload["dead"], payload["left_out"]) == (1000, 0)
    assert await node.told(INTERVAL_S) == [999], "nothing more has died"
    assert await node.told(INTERVAL_S) == [999]


async def test_what_died_while_no_router_ran_is_told_at_the_start(node: Node) -> None:
    await node.die(3)
    assert await node.restarted().told(0) == [3]


async def test_it_says_what_died_by_rule_the_most_first(node: Node) -> None:
    await node.die(1, "exit 1", rule="thumbs", action="shell", target="thumbs/shell")
    await node.die(2, "no route for hunter2")
    await node.told()
    (payload,) = node.sent
    sample = own().sample("jobs.dead")
    assert isinstance(sample, dict)
    assert {*payload, "text"} == {*sample}
    first, second = payload["by_rule"]
    assert {*first} == {*sample["by_rule"][0]}
    assert (first["rule"], first["new"], first["reason"]) == ("paid", 2, "no route for ***")
    assert (second["rule"], second["target"], second["new"]) == ("thumbs", "thumbs/shell", 1)
    causes = {cause.rule: cause for cause in await node.store.reads.causes(Selector())}
    assert (first["cause"], second["job"]) == (causes["paid"].key, causes["thumbs"].examples[0])


async def test_of_rules_that_see_redacted_values_no_quote_is_told(
    store: Store, make: Maker, clock: ManualClock
) -> None:
    node = Node(store, make, clock, "jobs.dead", REDACTING)
    for rule in ("paid", "other"):
        await node.die(1, "ValueError: anna@x.de", rule=rule)
    assert await node.told() == [2]
    reasons = {one["rule"]: one["reason"] for one in node.sent[0]["by_rule"]}
    assert reasons == {"paid": "ValueError", "other": "ValueError: anna@x.de"}


async def test_of_many_rules_the_rest_is_counted(node: Node) -> None:
    for number in range(12):
        await node.die(1, rule=f"r{number}", target=f"t{number}")
    await node.told()
    (payload,) = node.sent
    assert (len(payload["by_rule"]), payload["left_out"], payload["new"]) == (10, 2, 12)


async def test_a_revived_job_that_dies_again_is_told_again(node: Node) -> None:
    await node.die(2)
    assert await node.told() == [2]
    await node.store.revive(Selector(state="dead"), now=FAR)
    await node.clock.advance(INTERVAL_S)
    again = await lease_one(node.store, now=FAR + 1)
    await node.store.settle(a_settlement(again, "dead", reason="status 503"))
    assert await node.told() == [2, 1]


async def test_deaths_about_our_own_events_are_no_news(node: Node) -> None:
    """Or a call that fails would call again, and again."""
    await node.die(2, rule="call", endpoint="router")
    assert await node.told() == []
    await node.die(1, rule="call", endpoint="shop")
    assert await node.told() == [1]
    await node.clock.advance(INTERVAL_S)
    await node.die(5, rule="call", endpoint="router")
    assert await node.told() == [1]


async def test_what_a_store_could_not_take_is_sent_with_the_next_look(node: Node) -> None:
    node.fails = True
    await node.die(1)
    with pytest.raises(StoreUnavailable):
        await node.told()
    node.fails = False
    assert await node.told() == [1]


async def test_without_a_rule_for_it_nothing_is_asked(
    store: Store, make: Maker, clock: ManualClock
) -> None:
    node = Node(store, make, clock, "job.dead")
    await node.die(1)
    assert await node.told() == []
