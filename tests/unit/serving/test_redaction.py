"""Redacting on a real SQLite file: when it happens, what changes, that no file keeps the old."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router import log
from router.expressions import compile as compiled
from router.model.delivery import REDACTED
from router.model.settings import Dedupe, Endpoint
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.plan import dedupe_key
from router.serving.redaction import RedactionUpkeep
from router.store.sqlite.store import SqliteStore, open_store
from router.store.sqlite.writer import EMPTY_EVERY_S
from router.store.values import Acceptance, DeliveryRecord, Duplicate
from tests.builders import a_redact, a_ruleset
from tests.clocks import ManualClock
from tests.store_values import Maker, a_settlement, lease_one

CANARY = "canary-4711@example.net"
BODY = b'{"id": 1, "email": "%b", "total": "10.00"}' % CANARY.encode()
MAIL = "payload.email"


class World:
    """A store with what redacts it; `say` puts other rules in force."""

    def __init__(self, store: SqliteStore, folder: Path, clock: ManualClock) -> None:
        self.store, self.folder, self.clock = store, folder, clock
        self.make = Maker()
        self.live = LiveRef(LiveRuleset(a_ruleset(), SecretValues({}, {})))
        self.say(MAIL)
        self.redaction = RedactionUpkeep(
            store=store, live=self.live, clock=clock, log=log.get("test")
        )

    def say(self, *fields: str, keys: str | None = None, **given: Any) -> None:
        """`redact` of these fields at `shop`, whose dedupe `keys` are these; `open` has none."""
        dedupe = Dedupe("key", keys) if keys else Dedupe()
        redact = a_redact(*fields, **given)
        shop = Endpoint("shop", "shopify", ("/wh_x",), ("s",), redact=redact, dedupe=dedupe)
        other = Endpoint("open", "shopify", ("/wh_y",), ("s",))
        endpoints = {"shop": shop if fields else msgspec.structs.replace(shop, redact=None)}
        ruleset = a_ruleset(
            endpoints={**endpoints, "open": other},
            dedupe_keys={"shop": compiled(keys)} if keys else {},
        )
        self.live.swap(LiveRuleset(ruleset, SecretValues({}, {})))

    async def accepted(self, *keys: bytes, **given: Any) -> Acceptance:
        accepted = self.make.acceptance(*keys, **{"body": BODY, **given})
        await self.store.accept(accepted)
        await self.clock.advance(1)
        return accepted

    async def end(self, state: Any = "succeeded", **result: Any) -> None:
        """The next job ends with this result."""
        settlement = a_settlement(await lease_one(self.store, now=self.clock.ledger()), state)
        attempt = msgspec.structs.replace(
            settlement.attempt, result=result, ended_at=self.clock.now()
        )
        await self.store.settle(msgspec.structs.replace(settlement, attempt=attempt))

    async def redact(self) -> None:
        """Step until there is nothing more to do at once."""
        while await self.redaction.step():
            pass

    async def record(self, accepted: Acceptance) -> DeliveryRecord:
        record = await self.store.reads.delivery(accepted.delivery.id)
        assert record is not None
        return record

    async def body(self, accepted: Acceptance) -> bytes:
        return (await self.record(accepted)).delivery.body

    def holding(self, text: str = CANARY) -> list[str]:
        """The files beside the store, and itself, that hold this text."""
        files = [file for file in self.folder.iterdir() if file.is_file()]
        return sorted(file.name for file in files if text.encode() in file.read_bytes())


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    clock = ManualClock()
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    yield World(store, tmp_path, clock)
    await store.close()


async def test_the_value_goes_as_soon_as_nothing_is_open(world: World) -> None:
    accepted = await world.accepted(jobs=[world.make.job(), world.make.job()])
    await world.redact()
    assert await world.body(accepted) == BODY
    await world.end()
    await world.clock.advance(2)
    await world.redact()
    assert await world.body(accepted) == BODY, "one job is open"
    await world.end()
    await world.clock.advance(2)
    await world.redact()
    delivery = (await world.record(accepted)).delivery
    assert delivery.body == BODY.replace(CANARY.encode(), b"[redacted]")
    assert delivery.flags == (REDACTED,)
    assert delivery.redacted is not None
    assert delivery.redacted.paths == (MAIL,)
    assert delivery.redacted.at == world.clock.now()
    assert not delivery.damaged


async def test_a_delivery_without_jobs_is_redacted_at_once(world: World) -> None:
    accepted = await world.accepted(jobs=[], state="unmatched")
    await world.redact()
    assert CANARY.encode() not in await world.body(accepted)


async def test_so_long_after_the_last_end(world: World) -> None:
    world.say(MAIL, after_ms=60_000)
    accepted = await world.accepted()
    await world.clock.advance(100)
    await world.end()
    await world.redact()
    await world.clock.advance(59)
    await world.redact()
    assert await world.body(accepted) == BODY
    await world.clock.advance(1)
    await world.redact()
    assert CANARY.encode() not in await world.body(accepted)


async def test_outputs_and_results_lose_the_value_and_nothing_else(world: World) -> None:
    body = BODY.replace(b'"id": 1', b'"id": 987654321')
    world.say(MAIL, "payload.id")
    accepted = await world.accepted(body=body)
    escaped = CANARY.replace("@", "%40")
    await world.end(
        "dead", stdout=f"to {CANARY}, {escaped}", value={CANARY: [987654321, 1]}, status=500
    )
    await world.clock.advance(2)
    await world.redact()
    [attempt] = (await world.record(accepted)).attempts
    assert attempt.result == {
        "stdout": "to [redacted], [redacted]",
        "value": {"[redacted]": ["[redacted]", 1]},
        "status": 500,
    }


async def test_no_file_of_the_store_holds_it_any_more(world: World) -> None:
    """Large and small bodies among others, pages freed before, the journal."""
    large = BODY[:-1] + b', "pad": "' + b"x" * 20_000 + b'"}'
    for turn in range(40):
        await world.accepted(body=large if turn % 3 else BODY)
        await world.accepted(endpoint="open", body=b'{"id": 2}', jobs=[])
        if turn % 2:
            await world.end(stdout=f"{CANARY} " * (turn * 20))
            await world.end("dead", stdout=CANARY)
    await world.clock.advance(2)
    await world.redact()
    await world.clock.advance(2)
    await world.redact()
    await world.clock.advance(EMPTY_EVERY_S + 1)
    await world.store.ready()
    assert await world.store.reads.due_redactions(world.clock.ledger(), 9) == ()
    await world.store.ready()
    assert world.holding() == []
    with closing(sqlite3.connect(world.folder / "router.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_what_came_before_redact_was_written_goes_too(world: World) -> None:
    world.say()
    accepted = [await world.accepted(jobs=[]) for _ in range(5)]
    await world.redact()
    assert await world.body(accepted[0]) == BODY
    world.say(MAIL)
    await world.redact()
    assert not any([CANARY.encode() in await world.body(one) for one in accepted])


async def test_another_field_is_taken_out_later_and_the_digest_stays_the_first(
    world: World,
) -> None:
    accepted = await world.accepted(jobs=[])
    await world.redact()
    first = (await world.record(accepted)).delivery.redacted
    world.say(MAIL, "payload.total")
    await world.redact()
    second = (await world.record(accepted)).delivery
    assert second.body == b'{"id": 1, "email": "[redacted]", "total": "[redacted]"}'
    assert first is not None
    assert second.redacted is not None
    assert (second.redacted.sha256, second.redacted.paths) == (
        first.sha256,
        (MAIL, "payload.total"),
    )


async def test_other_endpoints_and_other_fields_stay(world: World) -> None:
    other = await world.accepted(jobs=[], endpoint="open")
    await world.redact()
    assert (await world.record(other)).delivery == other.delivery


async def test_a_key_that_holds_the_value_is_known_by_its_digest(world: World) -> None:
    key = b"shop\0" + msgspec.json.encode(CANARY)
    accepted = await world.accepted(key, jobs=[])
    world.say(MAIL, keys=MAIL)
    await world.redact()
    hidden = dedupe_key("shop", msgspec.json.encode(CANARY), hidden=True)
    assert (await world.record(accepted)).events[0].keys == (hidden,)
    copy = await world.store.accept(world.make.acceptance(hidden))
    assert copy == Duplicate(accepted.delivery.id)


async def test_a_store_that_broke_off_goes_on(world: World) -> None:
    """What is done is written with how far it has come: a new process finds the rest."""
    accepted = await world.accepted()
    await world.redact()
    again = RedactionUpkeep(
        store=world.store, live=world.live, clock=world.clock, log=log.get("test")
    )
    await world.end()
    await world.clock.advance(2)
    await again.step()
    assert CANARY.encode() not in await world.body(accepted)


async def test_a_ledger_that_moved_is_looked_through_from_its_beginning(world: World) -> None:
    accepted = await world.accepted(jobs=[])
    await world.redact()
    kept = await world.store.reads.recall("redact")
    elsewhere = {"redact": {**kept["redact"], "cursor": "an address of another store"}}
    await world.store.remember(elsewhere)
    newer = await world.accepted(jobs=[])
    await world.redact()
    assert CANARY.encode() not in await world.body(newer)
    assert (await world.record(accepted)).delivery.redacted is not None


async def test_a_copy_of_a_redacted_delivery_is_still_a_copy(world: World) -> None:
    accepted = await world.accepted(b"shop\0id-1", jobs=[])
    await world.redact()
    again = world.make.acceptance(b"shop\0id-1", body=BODY)
    assert await world.store.accept(again) == Duplicate(accepted.delivery.id)
