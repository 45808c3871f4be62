"""The way in, on a real SQLite file: judged, stored, then answered."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router import log
from router.errors import StoreUnavailable
from router.intake import Intake, IntakeChecks, Reply
from router.metrics import Metrics
from router.model.headers import kept_headers
from router.model.ids import Ids
from router.model.job import Attempt, NewJob, Settlement
from router.model.observed import Observed
from router.model.settings import Dedupe, Endpoint, FixedAnswer
from router.providers import builtin
from router.providers.waiting import Introspection, PublishedKey
from router.refusals import Refusals
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Acceptance, Accepted, Duplicate, Selector
from router.wiring.observers import IntakeObserver, Observers
from tests.builders import a_log, a_request, a_rule, a_ruleset
from tests.clocks import START_MS, ManualClock
from tests.singly import Singly

KEY = b"a-secret-of-some-length"


class Handover:
    """Gives leases while `slots` last; keeps what it was told."""

    def __init__(self, slots: int = 0, happened: list[Any] | None = None) -> None:
        self.slots = slots
        self.happened = [] if happened is None else happened
        self.given: list[str] = []
        self.released: list[str] = []
        self.works: list[Any] = []
        self.woken: list[str] = []

    def reserve(self, target: str, kind: Any) -> str | None:
        if len(self.given) >= self.slots:
            return None
        self.given.append(f"boot/{len(self.given)}")
        return self.given[-1]

    def release(self, lease: str, *, unsure: bool = False) -> None:
        self.released.append(lease)

    def hand_over(self, works: Sequence[Any]) -> None:
        self.works += works
        self.happened.append(works)

    def wake(self, target: str, due_at: int, kind: Any = None, fresh: Any = None) -> None:
        self.woken.append(target)


class Broken(Singly):
    """A store whose commit fails."""

    async def accept(self, acceptance: Acceptance) -> None:
        raise StoreUnavailable("disk full")


class Held(Singly):
    """A real store that begins a commit only when `begin` is set."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.asked, self.begin = asyncio.Event(), asyncio.Event()

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        self.asked.set()
        await self.begin.wait()
        return await self._store.accept(acceptance)


class KnownKeys:
    """What senders publish, by address; `wanted` is what was missed."""

    def __init__(self) -> None:
        self.at: dict[str, bytes] = {}
        self.wanted: list[str] = []

    def known(self, key: PublishedKey) -> bytes | None:
        return self.at.get(key.address)

    def want(self, key: PublishedKey, peer: str) -> None:
        self.wanted.append(key.address)


class Issuer:
    """Who issued tokens answers when it is let."""

    def __init__(self) -> None:
        self.answer: bytes | None = b'{"active": true}'
        self.asked: list[bytes] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self.known: dict[bytes, bytes] = {}

    def remembered(self, ask: Introspection) -> bytes | None:
        return self.known.get(ask.token)

    async def ask(self, live: LiveRuleset, ask: Introspection) -> bytes | None:
        self.asked.append(ask.token)
        await self.answers.wait()
        return self.answer


class World:
    """One intake and everything around it."""

    def __init__(self, store: Any, ruleset: Ruleset, slots: int = 0) -> None:
        self.store = store
        self.happened: list[Any] = []
        self.dispatch = Handover(slots, self.happened)
        self.clock = ManualClock()
        self.metrics = Metrics()
        self.refusals, self.full = Refusals(), False
        self.keys, self.issuer = KnownKeys(), Issuer()
        self.ranges: tuple[str, ...] | None = None
        lines = log.get("test")
        counted = Observers(IntakeObserver(self.metrics, lines, lines).handlers())

        def observe(happened: Observed) -> None:
            self.happened.append(happened)
            counted(happened)

        self.intake = Intake(
            live=LiveRef(LiveRuleset(ruleset, SecretValues({"shop": KEY}, {"shop": None}))),
            store=store,
            dispatch=self.dispatch,
            clock=self.clock,
            ids=Ids(random.Random(1)),
            observe=observe,
            refusals=self.refusals,
            checks=IntakeChecks(lambda _: self.ranges, lambda: self.full, self.keys, self.issuer),
        )

    async def send(self, body: bytes = b'{"id": 1}', number: str = "w-1", **given: Any) -> Reply:
        """A signed delivery of orders/paid."""
        key = given.pop("key", KEY)
        signed = builtin()["shopify"].sign(
            event="orders/paid", body=body, key=key, delivery_id=number, now_ms=self.clock.now()
        )
        headers = tuple((n.lower().encode(), v.encode()) for n, v in signed)
        endpoint = self.intake.find(b"/wh_x")
        assert endpoint is not None
        return await self.intake.accept(
            endpoint,
            a_request(body=body, headers=headers, **{"received_at": self.clock.now(), **given}),
        )


def answer(reply: Reply) -> Any:
    """The reply's JSON."""
    return msgspec.json.decode(reply.body)


async def test_a_genuine_delivery_is_stored_before_it_is_answered(store: SqliteStore) -> None:
    """200 accepted; the bytes are in the store, the job with them, its target woken."""
    held = Held(store)
    world = World(held, a_ruleset(a_rule("r")))
    sending = asyncio.ensure_future(world.send(b'{"id":  1}'))
    await held.asked.wait()
    assert not sending.done()
    held.begin.set()
    reply = await sending
    record = await store.reads.delivery(answer(reply)["delivery"])
    assert record is not None
    assert (reply.status, answer(reply)["status"]) == (200, "accepted")
    assert record.delivery.body == b'{"id":  1}'
    assert [(j.rule, j.state) for j in record.jobs] == [("r", "available")]
    assert world.dispatch.woken == ["r/log"]
    assert record.delivery.verified_by == "shop"


async def test_what_rules_were_asked_is_counted(store: SqliteStore) -> None:
    """Of candidates alone, and not of copies."""
    rules = (
        a_rule("hit"),
        a_rule("miss", "payload.id != 1"),
        a_rule("odd", "payload.gone > 1"),
        a_rule("shadow", mode="shadow"),
        a_rule("passed-over", "payload.id == 2"),
    )
    world = World(store, a_ruleset(*rules))
    await world.send()
    await world.send(number="w-2")
    await world.send()  # a copy of the first
    assert world.metrics.rule_totals() == {
        "hit": (2, 2, 0, 0, START_MS),
        "miss": (2, 0, 0, 0, None),
        "odd": (2, 0, 2, 0, None),
        "shadow": (2, 0, 0, 2, START_MS),
    }


async def test_a_reserved_job_is_handed_over_already_running(store: SqliteStore) -> None:
    """With the event that intake read, so that nobody reads it twice."""
    world = World(store, a_ruleset(a_rule("r")), slots=1)
    await world.send()
    (work,) = world.dispatch.works
    kept = await store.reads.job(work.job.id)
    assert kept is not None
    assert (kept.state, kept.attempt, kept.lease) == ("running", 1, "boot/0")
    assert msgspec.structs.replace(kept, started_at=None) == msgspec.structs.replace(
        work.job, started_at=None
    )
    assert work.event.payload == work.scope["payload"] == {"id": 1}


async def test_a_copy_is_a_duplicate_with_the_firsts_id_and_runs_nothing(
    store: SqliteStore,
) -> None:
    """Its reserved slots are given back."""
    world = World(store, a_ruleset(a_rule("r")), slots=2)
    first, second = await world.send(), await world.send(b'{"id": 2}')
    assert answer(second) == {"status": "duplicate", "delivery": answer(first)["delivery"]}
    assert len(world.dispatch.works) == 1
    assert world.dispatch.released == ["boot/1"]


async def test_a_forgery_stores_nothing_and_is_remembered_in_the_ring(store: SqliteStore) -> None:
    """401, a fixed word for the stranger, the reason for the operator."""
    world = World(store, a_ruleset(a_rule("r")))
    reply = await world.send(key=b"another-secret-entirely")
    assert (reply.status, answer(reply)) == (401, {"error": "unauthorized"})
    assert await store.reads.deliveries(Selector()) == ()
    (refusal,) = world.refusals.recent(9)
    assert (refusal["endpoint"], refusal["reason"]) == ("shop", "bad_signature")
    assert KEY.decode() not in str(refusal)


async def test_an_ended_secret_verifies_nothing(store: SqliteStore) -> None:
    """`until` is the first moment it is refused."""
    world = World(store, a_ruleset())
    live = world.intake._live
    until = world.clock.now() + 1000
    live.swap(LiveRuleset(a_ruleset(), SecretValues({"shop": KEY}, {"shop": until})))
    assert (await world.send(number="a")).status == 200
    await world.clock.advance(1)
    assert (await world.send(number="b")).status == 401


async def test_an_odd_body_is_stored_unparsed_and_acked(store: SqliteStore) -> None:
    """A genuine delivery is never refused for its body."""
    world = World(store, a_ruleset(a_rule("r")))
    reply = await world.send(b"{")
    record = await store.reads.delivery(answer(reply)["delivery"])
    assert record is not None
    assert (reply.status, record.delivery.state, record.jobs) == (200, "unparsed", ())
    assert answer(await world.send(b"{"))["status"] == "duplicate"


async def test_a_failed_commit_is_503_and_gives_the_slots_back() -> None:
    """The outcome is unknown, so nothing is claimed."""
    world = World(Broken(), a_ruleset(a_rule("r")), slots=1)
    reply = await world.send()
    assert (reply.status, reply.retry_after) == (503, 5)
    assert (world.dispatch.released, world.dispatch.works) == (["boot/0"], [])


async def test_a_full_store_refuses_the_genuine_and_the_forged_alike(store: SqliteStore) -> None:
    """503 for the genuine; the forged still hear 401."""
    world = World(store, a_ruleset())
    world.full = True
    assert (await world.send()).status == 503
    assert (await world.send(key=b"another-secret-entirely")).status == 401


async def test_addresses_outside_the_list_are_refused(store: SqliteStore) -> None:
    """403, before any signature is looked at."""
    shop = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), allow_from=("10.0.0.0/8",))
    world = World(store, a_ruleset(endpoints={"shop": shop}))
    assert (await world.send(peer="10.1.2.3")).status == 200
    assert (await world.send(peer="192.0.2.1", number="b")).status == 403


async def test_dedupe_off_runs_every_copy(store: SqliteStore) -> None:
    """As the endpoint says."""
    shop = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), dedupe=Dedupe(mode="off"))
    world = World(store, a_ruleset(a_rule(actions=(a_log(),)), endpoints={"shop": shop}))
    assert [answer(await world.send())["status"] for _ in range(2)] == ["accepted"] * 2


async def test_a_key_is_known_for_its_window(tmp_path: Path) -> None:
    """Afterwards the id is new again."""
    shop = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), dedupe=Dedupe(window_ms=60_000))
    clock = ManualClock()
    opened = await open_store(str(tmp_path / "router.db"), clock=clock)
    world = World(opened, a_ruleset(endpoints={"shop": shop}))
    statuses = []
    for seconds in (0, 59, 2):
        await clock.advance(seconds)
        statuses.append(answer(await world.send(received_at=clock.now()))["status"])
    await opened.close()
    assert statuses == ["accepted", "duplicate", "accepted"]


async def test_an_answer_of_ones_own_replaces_the_body(store: SqliteStore) -> None:
    """For a duplicate too; the delivery's id may stand in it."""
    own = FixedAnswer(202, "text/plain", ("got ", "!"))
    shop = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), answer=own)
    world = World(store, a_ruleset(endpoints={"shop": shop}))
    first, second = await world.send(), await world.send()
    (kept,) = await store.reads.deliveries(Selector())
    assert (first.status, first.content_type) == (202, "text/plain")
    assert first.body == second.body == f"got {kept.id}!".encode()


@pytest.mark.parametrize(("mode", "state"), [("ignore", "dead"), ("revive", "available")])
async def test_a_redelivery_revives_dead_jobs_where_the_endpoint_says_so(
    store: SqliteStore, mode: Any, state: str
) -> None:
    """Otherwise it changes nothing; it never routes anew."""
    shop = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), on_redelivery=mode)
    world = World(store, a_ruleset(a_rule("r"), endpoints={"shop": shop}))
    await world.send()
    batch = await store.lease({"r/log": 1}, lease="b/1", now=world.clock.now())
    job = batch.jobs[0].job
    attempt = Attempt(job.id, 1, 0, 0, "dead", "no", {}, job.generation)
    await store.settle(Settlement(job.id, "b/1", attempt, "dead", reason="no"))
    assert answer(await world.send())["status"] == "duplicate"
    assert [j.state for j in await store.reads.jobs(Selector())] == [state]


async def test_a_redelivery_does_not_revive_what_was_made_again(store: SqliteStore) -> None:
    """A replay has it in hand: opened as well, the work would be done twice."""
    shop = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), on_redelivery="revive")
    world = World(store, a_ruleset(a_rule("r"), endpoints={"shop": shop}))
    await world.send()
    [leased] = (await store.lease({"r/log": 1}, lease="b/1", now=world.clock.now())).jobs
    job = leased.job
    attempt = Attempt(job.id, 1, 0, 0, "dead", "no", {}, job.generation)
    await store.settle(Settlement(job.id, "b/1", attempt, "dead", reason="no"))
    again = NewJob(
        f"{job.id[:-1]}z", 0, job.event_id, job.event, job.rule, job.action, "log", job.target, 0,
        replay_of=job.id,
    )  # fmt: skip
    await store.add(job.delivery, (again,))
    assert answer(await world.send())["status"] == "duplicate"
    assert [j.state for j in await store.reads.jobs(Selector())] == ["available", "dead"]


def test_credentials_are_removed_before_anything_stores_them() -> None:
    """Authorization, Cookie, Proxy-*; the rest is kept in order."""
    headers = (
        (b"authorization", b"Bearer x"),
        (b"x-a", b"\xe9"),
        (b"cookie", b"c"),
        (b"proxy-connection", b"p"),
    )
    assert kept_headers(headers) == (
        ("authorization", "[removed]"),
        ("x-a", "é"),
        ("cookie", "[removed]"),
        ("proxy-connection", "[removed]"),
    )


@pytest.mark.parametrize("ms", [86_400_000, -86_400_000])
async def test_what_is_due_and_known_goes_by_ledger_time(ms: int) -> None:
    """A delivery is received by the clock as it is; its jobs and keys wait as if nobody set it."""
    kept: list[Acceptance] = []

    class Keeping(Singly):
        async def accept(self, acceptance: Acceptance) -> Accepted:
            kept.append(acceptance)
            return Accepted(acceptance.delivery.id)

    world = World(Keeping(), a_ruleset(a_rule("one")))
    world.clock.resume(ms)
    await world.send()
    [acceptance] = kept
    assert acceptance.delivery.received_at == START_MS
    assert [job.due_at for job in acceptance.jobs] == [START_MS - ms]
    window = Dedupe().window_ms
    assert acceptance.keys_until == START_MS - ms + window
