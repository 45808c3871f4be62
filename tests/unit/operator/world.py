"""A store with deliveries in it, and an operator, for tests of replays."""

import random
from typing import Any

import msgspec

from router.intake import acceptance
from router.model.delivery import as_request
from router.model.ids import Ids
from router.model.job import Job
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.plan import Planner
from router.rules.ruleset import Ruleset
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from tests.builders import NOW, a_delivery, a_log, a_rule, a_ruleset
from tests.clocks import JumpingClock
from tests.operators import verbs_of


def two_rules() -> Ruleset:
    """Each with one action, of a target of its own."""
    rules = (
        a_rule(name, actions=(msgspec.structs.replace(a_log(), target=name),))
        for name in ("one", "two")
    )
    return a_ruleset(*rules)


class World:
    """`store` is what the operator sees, which may be less reliable than the real one."""

    def __init__(self, real: SqliteStore, store: Any = None) -> None:
        self.real = real
        self.live = LiveRef(LiveRuleset(two_rules(), SecretValues({}, {})))
        self.ids = Ids(random.Random(3))
        self.clock = JumpingClock(NOW + 1000)
        self.woken: list[tuple[str, int]] = []
        self.operator = self.another(store)

    def another(self, store: Any = None, **given: Any) -> StoreVerbs:
        """An operator as the next process would have it."""
        return verbs_of(
            store or self.real,
            self.live,
            self.clock,
            ids=self.ids,
            wake=lambda target, due_at: self.woken.append((target, due_at)),
            **given,
        )

    async def take(self, number: int) -> str:
        """Commit a delivery as intake would; returns its id."""
        live = self.live.current
        endpoint = live.by_path[b"/wh_x"]
        at = NOW + number
        body = b'{"id": %d}' % number
        delivery = a_delivery(id=self.ids.new("dlv", at), received_at=at, body=body)
        reading = endpoint.provider.read(as_request(delivery))
        plan = Planner(live, self.ids, lambda _t, _k: None).plan(
            delivery, reading, endpoint.settings, NOW, NOW
        )
        await self.real.accept(acceptance(delivery, plan, endpoint, NOW))
        return delivery.id

    async def replayed(self) -> list[Job]:
        """The jobs that replays made, by due time."""
        found = await self.real.reads.jobs(Selector(limit=10_000))
        return sorted((j for j in found if j.replay_of), key=lambda j: (j.due_at, j.target))
