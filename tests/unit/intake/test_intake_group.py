"""Requests that came together: one commit, every outcome its own, all answers first."""

from collections.abc import Sequence
from typing import Any

import msgspec

from router.errors import StoreRefused, StoreUnavailable
from router.intake import Arrival, Reply
from router.model.delivery import InboundRequest
from router.providers import builtin
from router.store.sqlite.store import SqliteStore
from router.store.values import Acceptance, Accepted
from tests.builders import a_request, a_rule, a_ruleset
from tests.unit.intake.test_intake import KEY, World, answer


class Sent:
    """The answers of a group, among all that its world sees happen."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.replies: dict[str, Reply] = {}

    @property
    def happened(self) -> list[str]:
        return [_word(one) for one in self._world.happened]

    async def group(self, *arrivals: Arrival) -> list[int]:
        await self._world.intake.accept_group(arrivals, self._answered)
        return [self.replies[arrival.sender].status for arrival in arrivals]

    def _answered(self, arrival: Arrival, reply: Reply) -> None:
        assert arrival.sender not in self.replies
        self._world.happened.append(f"{arrival.sender} {reply.status}")
        self.replies[arrival.sender] = reply


def _word(happened: Any) -> str:
    if isinstance(happened, list):
        return f"{len(happened)} started"
    return happened if isinstance(happened, str) else type(happened).__name__


def an_arrival(world: World, name: str, *, number: str | None = None, key: bytes = KEY) -> Arrival:
    signed = builtin()["shopify"].sign(
        event="orders/paid",
        body=b'{"id": 1}',
        key=key,
        delivery_id=number or name,
        now_ms=world.clock.now(),
    )
    headers = tuple((n.lower().encode(), v.encode()) for n, v in signed)
    endpoint = world.intake.find(b"/wh_x")
    assert endpoint is not None
    return Arrival(
        endpoint,
        a_request(body=b'{"id": 1}', headers=headers, received_at=world.clock.now()),
        name,
    )


class Grouping:
    """A store that answers a group as it is told; keeps the groups."""

    def __init__(self, *receipts: Any) -> None:
        self._receipts = receipts
        self.groups: list[list[str]] = []

    async def accept_all(self, group: Sequence[Acceptance]) -> Sequence[Any]:
        self.groups.append([one.delivery.id for one in group])
        if isinstance(self._receipts[0], BaseException) and len(self._receipts) == 1:
            raise self._receipts[0]
        return self._receipts


async def test_each_outcome_is_its_own(store: SqliteStore) -> None:
    """New, a copy within the group, a forgery: each gets what it would get alone."""
    world = World(store, a_ruleset(a_rule("r")), slots=9)
    sent = Sent(world)
    statuses = await sent.group(
        an_arrival(world, "a"),
        an_arrival(world, "forged", key=b"another-key-altogether"),
        an_arrival(world, "copy", number="a"),
        an_arrival(world, "b"),
    )
    assert statuses == [200, 401, 200, 200]
    words = {name: answer(reply).get("status") for name, reply in sent.replies.items()}
    assert words == {"a": "accepted", "forged": None, "copy": "duplicate", "b": "accepted"}
    assert answer(sent.replies["copy"])["delivery"] == answer(sent.replies["a"])["delivery"]
    assert len(world.dispatch.works) == 2
    assert world.dispatch.released == ["boot/1"]


async def test_all_answers_go_out_before_anything_else(store: SqliteStore) -> None:
    """Then it is said of each what became of it, and the jobs start together."""
    world = World(store, a_ruleset(a_rule("r")), slots=9)
    sent = Sent(world)
    await sent.group(an_arrival(world, "a"), an_arrival(world, "b"))
    assert [one for one in sent.happened if one != "DeliveryRouted"] == [
        "a 200",
        "b 200",
        "DeliveryStored",
        "DeliveryStored",
        "2 started",
    ]


async def test_a_group_is_one_commit() -> None:
    store = Grouping(Accepted("dlv_1"), Accepted("dlv_2"))
    world = World(store, a_ruleset())
    await Sent(world).group(an_arrival(world, "a"), an_arrival(world, "b"))
    assert [len(group) for group in store.groups] == [2]


async def test_one_that_cannot_be_stored_fails_alone() -> None:
    """Its slot is given back as unsure; the other one is accepted."""
    world = World(Grouping(StoreRefused("odd"), Accepted("dlv_2")), a_ruleset(a_rule("r")), slots=9)
    assert await Sent(world).group(an_arrival(world, "a"), an_arrival(world, "b")) == [503, 200]
    assert world.dispatch.released == ["boot/0"]
    assert len(world.dispatch.works) == 1


async def test_a_store_that_fails_answers_all_with_503() -> None:
    world = World(Grouping(StoreUnavailable("disk full")), a_ruleset(a_rule("r")), slots=9)
    assert await Sent(world).group(an_arrival(world, "a"), an_arrival(world, "b")) == [503, 503]
    assert world.dispatch.released == ["boot/0", "boot/1"]
    assert world.dispatch.works == []


async def test_a_defect_touches_no_other(store: SqliteStore) -> None:
    """A request over which our own code stumbles gets 503, its neighbours their answer."""

    class Stumbling:
        def __init__(self, provider: Any) -> None:
            self._provider = provider

        def __getattr__(self, name: str) -> Any:
            return getattr(self._provider, name)

        def read(self, request: InboundRequest, weighed: Any = None) -> Any:
            if request.query_string == b"odd":
                raise RuntimeError("ours")
            return self._provider.read(request, weighed)

    stumbling: Any = Stumbling(builtin()["shopify"])
    ruleset = msgspec.structs.replace(
        a_ruleset(a_rule("r")), providers={"shopify": stumbling, "commerce": stumbling}
    )
    world = World(store, ruleset)
    good, odd = an_arrival(world, "good"), an_arrival(world, "odd")
    odd = odd._replace(request=msgspec.structs.replace(odd.request, query_string=b"odd"))
    sent = Sent(world)
    assert await sent.group(odd, good) == [503, 200]
    assert "IntakeDefect" in sent.happened


async def test_a_redelivery_that_revives_waits_alone(store: SqliteStore) -> None:
    """Its answer comes after the revival; nobody else's does."""
    ruleset = a_ruleset(a_rule("r"))
    endpoint = msgspec.structs.replace(ruleset.endpoints["shop"], on_redelivery="revive")
    world = World(store, msgspec.structs.replace(ruleset, endpoints={"shop": endpoint}))
    sent = Sent(world)
    await sent.group(an_arrival(world, "a"))
    world.happened.clear()
    await sent.group(an_arrival(world, "again", number="a"), an_arrival(world, "b"))
    answers = [one for one in sent.happened if one.endswith("200")]
    assert answers == ["b 200", "again 200"]
