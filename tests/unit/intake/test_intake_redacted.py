"""`redact` with `when: stored`: rules see the value, and nothing that is written has it."""

import hashlib
import json
from typing import Any

from router.expressions import compile as compiled
from router.model.delivery import REDACTED
from router.model.job import Group
from router.model.settings import Dedupe, Endpoint, Redact
from router.rules.specs import CompiledRule, Concurrency
from router.store.sqlite.store import SqliteStore
from router.store.values import DeliveryRecord
from tests.builders import a_redact, a_rule, a_ruleset
from tests.unit.intake.test_intake import World, answer

MAIL = "payload.email"
BODY = b'{"id": 1, "email": "anna@x.de"}'
LEFT = b'{"id": 1, "email": "[redacted]"}'


def a_world(
    store: SqliteStore,
    *rules: CompiledRule,
    redact: Redact | None = None,
    slots: int = 0,
    **given: Any,
) -> World:
    redact = redact or a_redact(MAIL, when="stored")
    shop = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), redact=redact, **given)
    keys = {} if shop.dedupe.key is None else {"shop": compiled(shop.dedupe.key)}
    ruleset = a_ruleset(*rules, endpoints={"shop": shop}, dedupe_keys=keys)
    return World(store, ruleset, slots)


async def sent(world: World, body: bytes = BODY, **given: Any) -> DeliveryRecord:
    reply = await world.send(body, **given)
    assert reply.status == 200
    record = await world.store.reads.delivery(answer(reply)["delivery"])
    assert record is not None
    return record


async def test_rules_see_what_is_never_stored(store: SqliteStore) -> None:
    world = a_world(store, a_rule("hers", "payload.email == 'anna@x.de'"), slots=1)
    record = await sent(world)
    assert [job.rule for job in record.jobs] == ["hers"]
    assert record.delivery.body == LEFT
    assert REDACTED in record.delivery.flags
    assert record.delivery.redacted is not None
    assert record.delivery.redacted.sha256 == hashlib.sha256(BODY).hexdigest()


async def test_a_job_that_begins_at_once_sees_what_its_retry_will_see(store: SqliteStore) -> None:
    world = a_world(store, a_rule("r"), slots=1)
    await sent(world)
    [work] = world.dispatch.works
    assert work.delivery.body == LEFT
    assert work.event.payload == {"id": 1, "email": "[redacted]"}
    assert work.scope["payload"] == work.event.payload
    assert "anna" not in repr(world.happened[-1])


async def test_a_copy_is_known_though_the_key_is_not_stored(store: SqliteStore) -> None:
    world = a_world(store, dedupe=Dedupe("key", MAIL))
    record = await sent(world)
    again = await world.send(BODY, number="w-2")
    assert (answer(again)["status"], answer(again)["delivery"]) == ("duplicate", record.delivery.id)
    assert b"anna" not in b"".join(record.events[0].keys)


async def test_a_group_by_the_value_takes_turns_without_storing_it(store: SqliteStore) -> None:
    grouped = a_rule("r", concurrency=Concurrency(compiled(MAIL), Group(1)))
    world = a_world(store, grouped)
    first, second = await sent(world), await sent(world, number="w-2")
    other = await sent(world, BODY.replace(b"anna", b"eve"), number="w-3")
    states = [record.jobs[0].state for record in (first, second, other)]
    assert states == ["available", "waiting", "available"]
    assert second.jobs[0].waits_for == ("its turn in group redacted",)


async def test_a_body_of_many_pages(store: SqliteStore) -> None:
    world = a_world(store, a_rule("r"))
    body = json.dumps({"pad": "x" * 50_000, "email": "anna@x.de"}).encode()
    record = await sent(world, body)
    assert record.delivery.body == body.replace(b"anna@x.de", b"[redacted]")


async def test_what_cannot_be_read_is_not_stored_at_all(store: SqliteStore) -> None:
    record = await sent(a_world(store), b'{"email": "anna')
    assert (record.delivery.state, record.delivery.body) == ("unparsed", b"[redacted]")


async def test_done_is_stored_as_it_came(store: SqliteStore) -> None:
    record = await sent(a_world(store, redact=a_redact(MAIL)))
    assert record.delivery.body == BODY
    assert record.delivery.redacted is None
