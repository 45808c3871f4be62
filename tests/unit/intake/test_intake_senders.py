"""The way in for senders that ask first, and for those that show their secret."""

from typing import Any

import msgspec
import pytest

from router.intake import Reply
from router.intake.observed import HandshakeAnswered
from router.model.settings import Endpoint
from router.providers import Provider
from router.rules.ruleset import Ruleset
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from router.wiring.observers import Observers, visit_handlers
from tests.builders import a_request, a_rule, a_ruleset
from tests.unit.intake.test_intake import KEY, World
from tests.unit.providers.makers import a_definition, a_provider

META = Provider(
    a_definition(
        respond=[
            {"method": "GET", "when": {"m": "s"}, "echo": "challenge", "token": "token"},
        ]
    )
)
BY_QUERY = Provider(a_definition(verify={"scheme": "token", "query": "key"}))


def receiving(provider: Provider, **endpoint: Any) -> Ruleset:
    """One endpoint for this provider, and a rule for everything."""
    given = {"secrets": ("shop",)} | endpoint
    return a_ruleset(
        a_rule("r"),
        endpoints={"shop": Endpoint("shop", provider.name, ("/wh_x",), **given)},
        providers={provider.name: provider},
    )


async def sent(world: World, provider: Provider, body: bytes = b"{}", **given: Any) -> Reply:
    """A request with the proof of this sender."""
    made = provider.prove(
        event="made", body=body, key=KEY, delivery_id="1", now_ms=world.clock.now()
    )
    headers = tuple((n.lower().encode(), v.encode()) for n, v in made.headers)
    values = {"headers": headers, "query_string": made.query.encode(), "body": made.body} | given
    endpoint = world.intake.find(b"/wh_x")
    assert endpoint is not None
    return await world.intake.accept(endpoint, a_request(received_at=world.clock.now(), **values))


async def kept(store: SqliteStore) -> list[Any]:
    return list(await store.reads.deliveries(Selector(limit=10)))


async def test_a_handshake_is_answered_and_nothing_is_stored(store: SqliteStore) -> None:
    slack = a_provider("slack")
    world = World(store, receiving(slack))
    body = b'{"type":"url_verification","challenge":"abc123"}'
    reply = await sent(world, slack, body)
    assert (reply.status, reply.body) == (200, b"abc123")
    assert reply.content_type.startswith("text/plain")
    assert await kept(store) == []
    assert (await sent(world, slack, body, headers=())).status == 401
    assert (await sent(world, slack, b'{"type":"event_callback"}')).body.startswith(b'{"status"')
    assert len(await kept(store)) == 1


async def test_a_question_by_get(store: SqliteStore) -> None:
    world = World(store, receiving(META))
    assert world.intake.find(b"/wh_x").methods == {"GET", "POST"}  # type: ignore[union-attr]
    asked = {"method": "GET", "headers": (), "body": b""}
    query = b"m=s&challenge=abc&token=" + KEY
    reply = await sent(world, META, query_string=query, **asked)
    assert (reply.status, reply.body) == (200, b"abc")
    for wrong in (b"m=s&challenge=abc&token=x", b"m=s&challenge=%3C&token=" + KEY, b"", b"m=s"):
        assert (await sent(world, META, query_string=wrong, **asked)).status in (400, 401)
    assert await kept(store) == []


async def test_a_get_that_is_no_handshake_is_no_delivery_of_an_open_endpoint(
    store: SqliteStore,
) -> None:
    world = World(store, receiving(META, unsigned=True, secrets=()))
    reply = await sent(world, META, method="GET", query_string=b"a=1", headers=(), body=b"")
    assert reply.status == 400
    assert await kept(store) == []


async def test_strangers_hear_no_handshake(store: SqliteStore) -> None:
    world = World(store, receiving(META, allow_from=("192.0.2.0/24",)))
    query = b"m=s&challenge=abc&token=" + KEY
    asked = {"method": "GET", "headers": (), "body": b"", "query_string": query}
    assert (await sent(world, META, **asked)).status == 403
    assert (await sent(world, META, peer="192.0.2.7", **asked)).body == b"abc"


@pytest.mark.parametrize("provider", [BY_QUERY, *map(a_provider, ("gitlab", "token"))])
async def test_a_secret_that_is_shown_is_nowhere_kept(
    store: SqliteStore, provider: Provider
) -> None:
    world = World(store, receiving(provider), slots=1)
    reply = await sent(world, provider, b'{"id":1}')
    assert reply.status == 200
    record = await store.reads.delivery(msgspec.json.decode(reply.body)["delivery"])
    assert record is not None
    assert "[removed]" in repr(record.delivery.headers) + record.delivery.query
    assert KEY.decode() not in repr(record)
    assert KEY.decode() not in repr(world.dispatch.works)
    await sent(world, provider, headers=(), query_string=b"key=" + KEY + b"x")
    assert KEY.decode() not in repr(world.refusals.recent(9))


async def test_an_unsigned_handshake_is_no_way_in(store: SqliteStore) -> None:
    graph = Provider(
        a_definition(
            respond=[{"when": {"query:token": "*"}, "echo": "query:token", "unsigned": True}]
        )
    )
    world = World(store, receiving(graph))
    reply = await sent(world, graph, headers=(), query_string=b"token=abc")
    assert (reply.status, reply.body) == (200, b"abc")
    for query in (b"token=%3C", b"token=a&token=b", b"token="):
        assert (await sent(world, graph, headers=(), query_string=query)).status == 401
    assert (await sent(world, graph, query_string=b"token=abc")).body == b"abc"
    assert await kept(store) == []


async def test_an_answer_of_a_handshake_is_its_own(store: SqliteStore) -> None:
    asana = Provider(
        a_definition(
            respond=[
                {
                    "when": {"header:X-Hook": "*"},
                    "echo": "header:X-Hook",
                    "answer": {"ok": True},
                    "answer_headers": {"X-Hook": "{echo}"},
                    "status": 202,
                    "unsigned": True,
                }
            ]
        )
    )
    reply = await sent(World(store, receiving(asana)), asana, headers=((b"x-hook", b"abc"),))
    assert (reply.status, reply.body, reply.content_type, reply.headers) == (
        202,
        b'{"ok":true}',
        "application/json",
        ((b"x-hook", b"abc"),),
    )


async def test_only_what_is_proved_has_an_address_visited(store: SqliteStore) -> None:
    asks = {"when": {"Type": "Confirm"}, "visit": "url", "hosts": [".example.com"]}
    sns = Provider(a_definition(respond=[asks]))
    body = b'{"Type":"Confirm","url":"https://sns.example.com/?Token=a"}'
    world, wanted = World(store, receiving(sns)), list[tuple[str, str]]()
    told = Observers(visit_handlers(lambda *given: wanted.append(given)))
    assert (await sent(world, sns, body, headers=())).status == 401
    assert (await sent(world, sns, body)).body == b""
    assert await kept(store) == []
    for happened in world.happened:
        told(happened)
    assert wanted == [("shop", "https://sns.example.com/?Token=a")]
    world = World(store, receiving(sns, unsigned=True, secrets=()))
    assert (await sent(world, sns, body)).body.startswith(b'{"status"'), "a delivery like others"
    assert not any(isinstance(one, HandshakeAnswered) for one in world.happened)


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ("https://a.example", 200),
        ("https://a.example/wh_x", 200),
        ("https://b.example", 401),
        ("", 401),
    ],
)
async def test_the_address_that_is_signed_is_the_one_that_the_endpoint_names(
    told: str, status: int, store: SqliteStore
) -> None:
    square = a_provider("square")
    world = World(store, receiving(square, public_url=told))
    made = square.prove(
        event="payment.updated",
        body=b"{}",
        key=KEY,
        delivery_id="1",
        now_ms=world.clock.now(),
        address="/wh_x",
        public_url="https://a.example",
    )
    headers = tuple((n.lower().encode(), v.encode()) for n, v in made.headers)
    assert (await sent(world, square, headers=headers)).status == status
