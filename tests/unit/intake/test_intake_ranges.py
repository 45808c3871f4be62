"""The way in for senders of published addresses, and for those that name an API version."""

import asyncio
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from router import log
from router.model.settings import PUBLISHED, Endpoint
from router.providers import builtin
from router.rules.ruleset import Ruleset
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from router.wiring.observers import ODD_VERSIONS_MAX
from tests.builders import a_request, a_rule, a_ruleset
from tests.unit.intake.test_intake import KEY, World

HOOKS = ("192.0.2.0/24", "2001:db8:1::/48")


def of_shop(**given: Any) -> Ruleset:
    """The endpoint `shop`, with these settings."""
    endpoint = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), **given)
    return a_ruleset(a_rule("r"), endpoints={"shop": endpoint})


def publishing(world: World, ranges: tuple[str, ...] | None) -> World:
    world.ranges = ranges
    return world


@pytest.mark.parametrize(
    ("peer", "status"),
    [
        ("192.0.2.7", 200),
        ("2001:db8:1::7", 200),
        ("::ffff:192.0.2.7", 200),
        ("10.9.8.7", 200),
        ("198.51.100.1", 403),
        ("2001:db8:2::7", 403),
        ("", 403),
    ],
)
async def test_who_is_let_in(store: SqliteStore, peer: str, status: int) -> None:
    """Published ranges, and ranges of the operator's own beside them."""
    world = publishing(World(store, of_shop(allow_from=(PUBLISHED, "10.0.0.0/8"))), HOOKS)
    assert (await world.send(peer=peer)).status == status


async def test_a_stranger_with_a_right_signature_hears_no_more_than_a_word(
    store: SqliteStore,
) -> None:
    world = publishing(World(store, of_shop(allow_from=(PUBLISHED,))), HOOKS)
    reply = await world.send(peer="198.51.100.1")
    assert (reply.status, reply.body) == (403, b'{"error":"forbidden"}')
    assert world.refusals.recent(1)[0]["reason"] == "address_not_allowed"


async def test_until_ranges_are_known_the_sender_gets_503(store: SqliteStore) -> None:
    world = publishing(World(store, of_shop(allow_from=(PUBLISHED,))), None)
    reply = await world.send(peer="192.0.2.7")
    assert (reply.status, reply.retry_after) == (503, 5)
    assert not await store.reads.deliveries(Selector(limit=1))
    publishing(world, HOOKS)
    assert (await world.send(peer="192.0.2.7")).status == 200


async def test_another_version_is_flagged_and_routed_all_the_same(store: SqliteStore) -> None:
    world = World(store, of_shop(api_version="2023-10"))
    await world.send()
    [found] = await store.reads.deliveries(Selector(limit=5))
    assert found.flags == ("api_version",)
    assert found.state == "routed"
    assert sum(found.jobs.values()) == 1


async def test_the_expected_version_is_not_flagged(store: SqliteStore) -> None:
    world = World(store, of_shop(api_version="2024-01"))
    await world.send()
    [found] = await store.reads.deliveries(Selector(limit=5))
    assert found.flags == ()


async def test_a_body_that_is_no_json_is_flagged_too(store: SqliteStore) -> None:
    world = World(store, of_shop(api_version="2023-10"))
    await world.send(b"no json")
    [found] = await store.reads.deliveries(Selector(limit=5))
    assert (found.state, "api_version" in found.flags) == ("unparsed", True)


# -- a new version: said once, counted always


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where lines go; afterwards nothing is logged any more, as before."""
    stream = io.StringIO()
    log.configure(stream=stream, level="warning")
    yield stream
    log.reset()


async def bear(world: World, version: str, number: str) -> None:
    """Deliver what was made by that version; the number of a delivery is its dedupe key."""
    named = builtin()["shopify"].sign(
        event="orders/paid", body=b"{}", key=KEY, delivery_id=number, now_ms=world.clock.now()
    )
    headers = {**{n.lower(): v for n, v in named}, "x-shopify-api-version": version}
    endpoint = world.intake.find(b"/wh_x")
    assert endpoint is not None
    wire = tuple((name.encode(), value.encode()) for name, value in headers.items())
    assert (await world.intake.accept(endpoint, a_request(headers=wire))).status == 200


async def reported(stream: io.StringIO) -> list[dict[str, Any]]:
    """What the log said of versions."""
    await asyncio.sleep(0)  # lines of one turn of the loop go out at its end
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    return [line for line in lines if line["event"] == "another api version"]


def counted(world: World) -> float:
    return world.metrics.value("router_api_version_differs_total", endpoint="shop")


async def test_a_new_api_version_is_logged_once_and_counted_always(
    store: SqliteStore, stream: io.StringIO
) -> None:
    """A sender that has moved on says the same with every delivery; the next move is news again."""
    world = World(store, of_shop(api_version="2023-10"))
    for number, version in enumerate(["2024-01", "2023-10", "2024-01", "2024-04", "2024-01"]):
        await bear(world, version, f"w-{number}")
    assert [
        (line["level"], line["endpoint"], line["version"]) for line in await reported(stream)
    ] == [
        ("warning", "shop", "2024-01"),
        ("warning", "shop", "2024-04"),
    ]
    assert {line["expected"] for line in await reported(stream)} == {"2023-10"}
    assert counted(world) == 4


async def test_a_sender_of_ever_new_versions_does_not_fill_the_log(
    store: SqliteStore, stream: io.StringIO
) -> None:
    world = World(store, of_shop(api_version="2023-10"))
    sent = ODD_VERSIONS_MAX + 5
    for number in range(sent):
        await bear(world, f"v{number}", f"w-{number}")
    assert len(await reported(stream)) == ODD_VERSIONS_MAX
    assert counted(world) == sent
