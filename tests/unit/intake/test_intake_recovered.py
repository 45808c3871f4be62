"""What was fetched from a sender's API is taken as if it had been delivered, and once."""

from typing import Any

import msgspec

from router.errors import StoreUnavailable
from router.model.delivery import RECOVERED, InboundRequest
from router.providers import builtin
from router.store.sqlite.store import SqliteStore
from router.store.values import Accepted, Duplicate
from tests.builders import a_request, a_rule, a_ruleset
from tests.unit.intake.test_intake import World, answer


async def take(world: World, number: str = "w-1") -> Accepted | Duplicate | None:
    """Without any signature."""
    endpoint = world.intake.find(b"/wh_x")
    assert endpoint is not None
    headers = ((b"x-shopify-topic", b"orders/paid"), (b"x-shopify-webhook-id", number.encode()))
    request = a_request(body=b'{"id": 1}', headers=headers, received_at=world.clock.now())
    return await world.intake.take(endpoint, request, "token")


async def test_it_is_stored_routed_and_says_how_it_was_proved(store: SqliteStore) -> None:
    world = World(store, a_ruleset(a_rule("r")))
    receipt = await take(world)
    assert isinstance(receipt, Accepted)
    record = await store.reads.delivery(receipt.delivery)
    assert record is not None
    assert (record.delivery.verified_by, record.delivery.flags) == ("token", (RECOVERED,))
    assert [job.rule for job in record.jobs] == ["r"]
    assert world.dispatch.woken == ["r/log"]
    assert world.metrics.value("router_ack_seconds_count", provider="shopify") == 0


async def test_fetched_and_delivered_are_one(store: SqliteStore) -> None:
    world = World(store, a_ruleset(a_rule("r")))
    delivered = answer(await world.send())["delivery"]
    assert await take(world) == Duplicate(delivered)
    assert isinstance(await take(world, "w-2"), Accepted)
    assert answer(await world.send(number="w-2"))["status"] == "duplicate"


async def test_what_cannot_be_taken_breaks_nothing(store: SqliteStore) -> None:
    world = World(store, a_ruleset(a_rule("r")))
    world.full = True
    assert await take(world) is None

    class Stumbling:
        def __getattr__(self, name: str) -> Any:
            return getattr(builtin()["shopify"], name)

        def read(self, request: InboundRequest, weighed: Any = None) -> Any:
            raise RuntimeError("ours")

    stumbling: Any = Stumbling()
    odd = msgspec.structs.replace(a_ruleset(), providers={"shopify": stumbling})
    assert await take(World(store, odd)) is None

    class Away:
        reads = store.reads

        async def accept_all(self, group: Any) -> Any:
            raise StoreUnavailable("disk full")

    assert await take(World(Away(), a_ruleset(a_rule("r")))) is None
