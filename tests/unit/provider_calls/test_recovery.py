"""What a sender could not deliver is listed, asked for once, remembered, and gone on with."""

import asyncio
import json
import random
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from router import log
from router.errors import NotFound, StoreUnavailable, UsageError
from router.model.ids import Ids
from router.model.operations import Audit
from router.model.recovery import ASKED, FACTS, Recovery
from router.operator.audit import AuditTrail
from router.provider_calls.client import ProviderClient
from router.provider_calls.recovery import (
    AGAIN_MS,
    OVERLAP_MS,
    PATIENCE_S,
    SINCE_MS,
    Recoveries,
    RecoverySource,
)
from router.providers import builtin
from router.providers.management import Access
from router.store.values import Claimed, alone
from tests.api_server import TOKEN, Answer, ApiServer
from tests.clocks import START_MS, JumpingClock
from tests.missed_api import Attempt
from tests.unit.provider_calls.conftest import client_of

NOW = START_MS // 1000
HOUR, DAY = 3600, 86_400
ADDRESSES = ("https://hooks.example.com/wh_x",)


class Facts:
    """What a run needs of a store."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.lines: list[Audit] = []
        self.broken = False

    async def remember(self, facts: Mapping[str, Any], _audit: Audit | None = None) -> None:
        if self.broken:
            raise StoreUnavailable("disk full")
        self.kept |= json.loads(json.dumps(facts))

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        return {k: v for k, v in self.kept.items() if k.startswith(prefix)}

    async def note(self, line: Audit) -> None:
        self.lines.append(line)


class World:
    """One router, and one endpoint `x` of a sender; `hook` as an endpoint names it."""

    def __init__(
        self,
        api: ApiServer,
        provider: str,
        *,
        hook: str = "/repos/octo/site/hooks/7",
        token: str = TOKEN,
        facts: Facts | None = None,
        claimed: Claimed = alone,
    ) -> None:
        rule = builtin()[provider].definition.api
        assert rule is not None
        self.api, self.facts, self.clock = api, facts or Facts(), JumpingClock()
        self.from_here = RecoverySource(
            Access(rule, api.url, token, provider), hook, ADDRESSES, "api_token"
        )
        self.taken: list[Any] = []
        self.full = self.breaks = False
        self.schedule: dict[str, int] = {}
        self.runs: list[Recovery] = []
        self.recoveries = Recoveries(
            self,
            store=self.facts,
            audit=AuditTrail(self.facts, self.clock, Ids(random.Random(1))),  # type: ignore[arg-type]
            clock=self.clock,
            log=log.get("test"),
            claimed=claimed,
        )

    def every(self) -> Mapping[str, int]:
        return self.schedule

    def source(self, endpoint: str) -> RecoverySource:
        if endpoint != "x":
            raise UsageError("there is no such endpoint")
        return self.from_here

    def client(self, base: str) -> AbstractAsyncContextManager[ProviderClient]:
        assert base == self.api.url
        return client_of(self.api)

    async def take(self, endpoint: str, body: bytes, secret: str) -> bool | None:
        assert (endpoint, secret) == ("x", "api_token")
        if self.breaks:
            raise ZeroDivisionError
        if self.full:
            return None
        event = json.loads(body)
        new = event not in self.taken
        self.taken += [event] if new else []
        return new

    def ended(self, run: Recovery) -> None:
        self.runs.append(run)

    async def recover(self, since: int | None = None) -> Recovery:
        """A run, at its end."""
        await self.recoveries.recover("x", since, patience_s=60)
        return await self.recoveries.progress("x")


def attempts(*rows: tuple[int, str, int, str]) -> list[Attempt]:
    """(id, guid, seconds ago, status), newest first."""
    return [Attempt(id_, guid, NOW - ago, status) for id_, guid, ago, status in rows]


def event(number: int, ago: int) -> dict[str, Any]:
    return {
        "id": f"evt_{number}",
        "object": "event",
        "type": "invoice.paid",
        "created": NOW - ago,
        "data": {"object": {"id": number}},
    }


async def test_what_was_never_delivered_is_delivered_again(api: ApiServer) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts(
        (9, "later", 10, "OK"),
        (8, "timed out", 20, "timed out"),
        (7, "mended", 30, "OK"),
        (6, "mended", 40, "failed to connect to host"),
        (5, "twice", 50, "Invalid HTTP Response: 503"),
        (4, "twice", 60, "Invalid HTTP Response: 503"),
        (3, "fine", 70, "OK"),
        (2, "too old", 7 * HOUR, "timed out"),
    )
    run = await world.recover()
    assert api.missed.redelivered == [8, 5]
    assert (run.state, run.seen, run.missed, run.requested, run.problem) == ("done", 7, 2, 2, None)
    assert run.since == START_MS - SINCE_MS
    assert [asked.method for asked in api.asked] == ["GET", "POST", "GET", "POST", "GET"]
    assert [line.verb for line in world.facts.lines] == ["recover"]
    assert world.facts.lines[0].count == 2


@pytest.mark.parametrize(
    "hook",
    [
        "/repos/octo/site/hooks/7",
        "/repos/octo/site/hooks/{id}",
        "/orgs/octo/hooks/{id}",
        "/app/hook",
    ],
)
async def test_hooks_of_repositories_organizations_and_apps(api: ApiServer, hook: str) -> None:
    world = World(api, "github", hook=hook)
    api.missed.hooks = [
        {"id": 5, "config": {"url": "https://other.example.com/"}},
        *api.missed.hooks,
    ]
    api.missed.attempts = attempts((1, "a", 5, "timed out"))
    run = await world.recover()
    assert (run.state, run.requested) == ("done", 1), run.problem


async def test_a_hook_that_is_not_there_or_not_alone_is_said(api: ApiServer) -> None:
    world = World(api, "github", hook="/repos/octo/site/hooks/{id}")
    api.missed.hooks *= 2
    run = await world.recover()
    assert run.state == "stopped"
    assert run.problem == "of 2 hooks there 2 deliver to https://hooks.example.com/wh_x"


async def test_events_are_fetched_page_by_page_and_taken(api: ApiServer) -> None:
    world = World(api, "stripe", hook="")
    api.missed.events = [event(number, number * 60) for number in range(1, 9)]
    api.missed.events.append(event(99, 7 * HOUR))
    run = await world.recover()
    assert (run.state, run.seen, run.stored, run.known) == ("done", 8, 8, 0)
    assert sorted(one["id"] for one in world.taken) == [f"evt_{n}" for n in range(1, 9)]
    assert world.taken[0] == event(3, 180)  # of a page the oldest first
    assert len(api.asked) == 3
    again = await world.recover(START_MS - DAY * 1000)
    assert (again.stored, again.passed, again.seen) == (1, 8, 9)


async def test_what_came_meanwhile_is_known(api: ApiServer) -> None:
    world = World(api, "stripe", hook="")
    api.missed.events = [event(1, 60)]
    world.taken.append(event(1, 60))
    run = await world.recover()
    assert (run.stored, run.known, run.failed) == (0, 1, 0)


async def test_what_cannot_be_stored_is_tried_again_by_the_next_run(api: ApiServer) -> None:
    world = World(api, "stripe", hook="")
    api.missed.events = [event(1, 60)]
    world.full = True
    run = await world.recover()
    assert (run.state, run.failed, run.problem) == ("done", 1, "the router could not store it")
    world.full = False
    assert (await world.recover()).stored == 1


async def test_a_plan_asks_for_nothing(api: ApiServer) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts((2, "b", 5, "timed out"), (1, "a", 9, "OK"))
    plan = await world.recoveries.plan("x", None)
    assert (plan.seen, plan.missed, plan.passed) == (2, 1, 0)
    assert [(one.id, one.event) for one in plan.shown] == [("2", "push")]
    assert not api.missed.redelivered
    assert not world.facts.kept


async def test_the_same_is_not_asked_for_twice_within_minutes(api: ApiServer) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts((1, "a", 5, "timed out"))
    api.missed.again = "timed out"
    await world.recover()
    run = await world.recover()
    assert (run.missed, run.requested, run.passed) == (1, 0, 1)
    world.clock.elapsed += AGAIN_MS / 1000 + 1
    assert (await world.recover()).requested == 1


REFUSED = {"message": "Bad credentials"}


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ([Answer(401, REFUSED)], "HTTP 401: Bad credentials: the token is not accepted"),
        ([Answer(404, {"message": "Not Found"})], "HTTP 404: Not Found: the token may not; needed"),
        ([Answer(200, "<html>")], "HTTP 200 with text/html, where success is"),
        ([Answer(200, {"hooks": []})], "the answer is no list"),
        ([Answer(200, [{"id": 1}])], "an item of the list has no id"),
        ([Answer(200, [{"id": 1, "guid": "a"}])], "an item of the list has no time"),
        ([Answer(500, "oops")] * 3, "HTTP 500: oops"),
        (["close"] * 3, "the answer is not acceptable HTTP"),
        ([Answer(429, "", {"Retry-After": "3600"})], "the sender allows no more calls for 3600 s"),
    ],
)
async def test_a_run_that_cannot_go_on_says_why_and_how_to_help(
    api: ApiServer, script: list[Any], problem: str
) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts((1, "a", 5, "timed out"))
    api.script.extend(script)
    run = await world.recover()
    assert run.state == "stopped"
    assert problem in (run.problem or "")
    assert TOKEN not in str(world.facts.kept)
    after = await world.recover()
    assert (after.state, after.requested) == ("done", 1)


@pytest.mark.parametrize(
    "pause",
    [
        Answer(429, "", {"Retry-After": "30"}),
        Answer(403, {"message": "secondary limit"}, {"Retry-After": "30"}),
        Answer(403, "", {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"}),
        Answer(502, ""),
    ],
)
async def test_a_short_pause_is_waited_out(api: ApiServer, pause: Answer) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts((1, "a", 5, "timed out"))
    api.script.append(pause)
    run = await world.recover()
    assert (run.state, run.requested) == ("done", 1)
    assert max(world.clock.slept) >= (30 if pause.headers else 2)


async def test_the_last_call_of_an_hour_is_used_and_no_more_made(api: ApiServer) -> None:
    world = World(api, "github")
    page = [one.as_json() for one in attempts((1, "a", 5, "timed out"))]
    limits = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1200"}
    api.script.append(Answer(200, page, limits))
    run = await world.recover()
    assert (run.state, len(api.asked)) == ("stopped", 1)
    assert "for 1200 s" in (run.problem or "")


async def test_one_that_the_sender_does_not_deliver_again_leaves_the_others(api: ApiServer) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts((2, "b", 5, "timed out"), (1, "a", 9, "timed out"))
    page = [one.as_json() for one in api.missed.attempts]
    api.script.extend([Answer(200, page), Answer(422, {"message": "too old"})])
    run = await world.recover()
    assert (run.state, run.requested, run.failed) == ("done", 1, 1)
    assert run.problem == "HTTP 422: too old"


@pytest.mark.long
async def test_calls_keep_to_the_senders_pace(api: ApiServer) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts(*((n, str(n), n, "timed out") for n in range(1, 8)))
    await world.recover()
    assert len(api.asked) == 10
    assert world.clock.elapsed > 9


@pytest.mark.long
async def test_a_run_that_was_cut_off_goes_on_where_it_was(api: ApiServer) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts(*((n, str(n), n * HOUR, "timed out") for n in range(1, 9)))
    page = [one.as_json() for one in api.missed.attempts[:3]]
    link = {"Link": f'<{api.url}/x?cursor=v1_4>; rel="next"'}
    api.script.append(Answer(200, page, link))
    api.script.extend([Answer(202, {})] * 3 + [Answer(503, "")] * 3)
    cut_off = await world.recover(START_MS - DAY * 1000)
    assert (cut_off.state, cut_off.requested) == ("stopped", 3)
    next_process = World(api, "github", facts=world.facts)
    run = await next_process.recover()
    assert run.since == cut_off.since
    assert (run.passed, run.requested) == (3, 5)


async def test_nothing_older_is_asked_for_than_the_sender_keeps(api: ApiServer) -> None:
    world = World(api, "github")
    run = await world.recover(0)
    assert run.since == START_MS - 3 * DAY * 1000


async def test_a_foreign_next_page_only_gives_its_place(api: ApiServer) -> None:
    world = World(api, "github")
    page = [one.as_json() for one in attempts((1, "a", 5, "OK"))]
    link = {"Link": '<https://evil.example.com/steal?cursor=v1_2>; rel="next"'}
    api.script.append(Answer(200, page, link))
    await world.recover()
    assert [asked.path for asked in api.asked][1].endswith("deliveries?per_page=100&cursor=v1_2")


async def test_every_so_often_and_from_where_the_last_run_ended(api: ApiServer) -> None:
    world = World(api, "github")
    world.schedule = {"x": 900_000}
    await settled(world)
    assert world.runs[0].since == START_MS - SINCE_MS
    world.clock.elapsed += 600
    await settled(world)
    assert len(world.runs) == 1
    world.clock.elapsed += 400
    await settled(world)
    first, second = world.runs
    assert second.since == first.started_at - OVERLAP_MS
    assert not world.facts.lines  # it did nothing: no line for that


async def test_another_process_does_not_begin_before_its_time(api: ApiServer) -> None:
    world = World(api, "github")
    world.schedule = {"x": 900_000}
    await settled(world)
    other = World(api, "github", facts=world.facts)
    other.schedule = world.schedule
    other.clock.elapsed += 300
    await settled(other)
    assert not other.runs
    other.clock.elapsed += 700
    await settled(other)
    assert len(other.runs) == 1


async def test_of_several_routers_one_does_it(api: ApiServer) -> None:
    async def taken(_name: str, _ttl_ms: int) -> bool:
        return False

    world = World(api, "github", claimed=taken)
    world.schedule = {"x": 900_000}
    await settled(world)
    assert not world.runs
    with pytest.raises(UsageError, match="another router has just done this"):
        await world.recover()
    running = Recovery("x", "running", START_MS, START_MS, START_MS)
    world.facts.kept[FACTS + "x"] = msgspec.to_builtins(running)
    assert (await world.recover()).state == "running"
    assert not api.asked


async def test_who_lost_its_claim_stops(api: ApiServer) -> None:
    claims = iter([True, False])

    async def once(_name: str, _ttl_ms: int) -> bool:
        return next(claims, False)

    world = World(api, "github", claimed=once)
    api.missed.attempts = attempts((1, "a", 5, "timed out"))
    run = await world.recover()
    assert (run.state, run.problem) == ("stopped", "another router goes on with it")
    assert not api.missed.redelivered


async def test_a_store_that_is_away_ends_a_run_and_breaks_nothing(api: ApiServer) -> None:
    world = World(api, "github")
    api.missed.attempts = attempts((1, "a", 5, "timed out"))
    await world.recoveries.recover("x", None, patience_s=0)
    world.facts.broken = True
    await ended()
    assert world.recoveries.known()["x"].problem == "disk full"
    world.facts.broken = False
    assert (await world.recover()).state == "done"


async def test_a_run_that_breaks_off_is_stopped_for_whoever_waits(api: ApiServer) -> None:
    world = World(api, "stripe", hook="")
    api.missed.events = [event(1, 60)]
    world.breaks = True
    run = await world.recoveries.recover("x", None, patience_s=60)
    assert (run.state, run.problem) == ("stopped", "a defect: the log has it")
    later = await world.recoveries.progress("x")  # by what is stored, where it runs for ever
    assert (later.state, later.problem) == ("stopped", "it was cut off")
    world.breaks = False
    assert (await world.recover()).stored == 1


async def test_of_what_was_asked_only_the_newest_is_remembered(api: ApiServer) -> None:
    world = World(api, "github")
    world.facts.kept[ASKED + "x"] = {str(n): START_MS - n for n in range(6_000)}
    api.missed.attempts = attempts((1, "a", 5, "timed out"))
    await world.recover()
    kept = world.facts.kept[ASKED + "x"]
    assert len(kept) == 5_000
    assert "a" in kept


async def test_progress_of_nothing(api: ApiServer) -> None:
    world = World(api, "github")
    with pytest.raises(NotFound):
        await world.recoveries.progress("x")
    with pytest.raises(UsageError):
        await world.recoveries.recover("y", None, patience_s=PATIENCE_S)


async def settled(world: World) -> None:
    """What is due has begun, and has ended."""
    await world.recoveries.step()
    await ended()


async def ended() -> None:
    """Every run has."""
    await asyncio.gather(*(t for t in asyncio.all_tasks() if t.get_name().startswith("recovery")))
