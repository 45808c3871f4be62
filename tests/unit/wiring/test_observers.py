"""What happens reaches metrics, log and, while somebody watches, the live feed."""

import asyncio
import io
import json
from collections.abc import Iterator

import pytest

from router import log
from router.dispatch.observed import AttemptEnded, JobsCancelled, LeaseLost
from router.errors import StoreUnavailable
from router.intake.observed import CommitFailed, DeliveryStored, RequestRefused
from router.metrics import ActivityTotals, Metrics
from router.model.delivery import Refused
from router.model.job import Attempt, Settlement
from router.model.observed import Observed
from router.model.settings import Api, Endpoint
from router.providers import builtin
from router.rules.live import LiveEndpoint
from router.rules.plan import Plan
from router.store.values import Acceptance, Accepted
from router.web.feed import Feed, FeedFilter
from router.wiring.observers import (
    DispatchObserver,
    IntakeObserver,
    Observers,
    feed_handlers,
)
from tests.builders import a_delivery, a_job
from tests.clocks import ManualClock


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Where lines go; afterwards nothing is logged any more, as before."""
    stream = io.StringIO()
    log.configure(stream=stream, level="debug")
    yield stream
    log.reset()


async def said(stream: io.StringIO) -> list[dict[str, object]]:
    await asyncio.sleep(0)  # lines of one turn of the loop go out at its end
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def ended() -> AttemptEnded:
    job = a_job()
    attempt = Attempt(job.id, 1, 5, 9, "dead", "status 410", {}, "0" * 64)
    settlement = Settlement(job.id, "l", attempt, "dead", reason="status 410")
    return AttemptEnded(job, settlement, Acceptance(a_delivery(id="dlv_own"), (), ()))


def test_each_value_goes_to_the_handlers_of_its_type_in_order() -> None:
    seen: list[tuple[str, Observed]] = []
    lost, cancelled = LeaseLost(a_job()), JobsCancelled(a_job(), ())
    observe = Observers(
        {LeaseLost: lambda e: seen.append(("first", e))},
        {LeaseLost: lambda e: seen.append(("second", e)), JobsCancelled: lambda e: None},
    )
    observe(lost)
    observe(cancelled)
    assert seen == [("first", lost), ("second", lost)]


async def test_a_delivery_that_is_not_stored_is_counted_and_logged(lines: io.StringIO) -> None:
    metrics = Metrics()
    observe = IntakeObserver(metrics, log.get("intake"), log.get("own")).handlers()[CommitFailed]
    observe(CommitFailed("shop", StoreUnavailable("the disk is full"), a_delivery()))
    assert metrics.value("router_commit_failures_total", endpoint="shop") == 1
    (line,) = await said(lines)
    assert (line["event"], line["error"]) == ("store unavailable", "the disk is full")


async def test_a_death_is_counted_and_logged(lines: io.StringIO) -> None:
    metrics = Metrics()
    DispatchObserver(metrics, log.get("dispatch")).handlers()[AttemptEnded](ended())
    (line,) = await said(lines)
    assert (line["event"], line["level"], line["reason"]) == ("dead letter", "error", "status 410")
    assert metrics.value("router_jobs_total", kind="http", outcome="dead") == 1
    assert metrics.activity() == {("attempt", ended().job.target, "dead"): ActivityTotals(1, 4, 4)}


@pytest.mark.parametrize(("judged", "level"), [(True, "warning"), (False, "debug")])
async def test_a_refusal_is_counted_and_logged(
    judged: bool, level: str, lines: io.StringIO
) -> None:
    metrics, own = Metrics(), log.get("own")
    refused = RequestRefused("shop", Refused("bad_signature"), "h", judged=judged, probe=False)
    IntakeObserver(metrics, log.get("intake"), own).handlers()[RequestRefused](refused)
    (line,) = await said(lines)
    assert (line["level"], line["reason"], line["peer"]) == (level, "bad_signature", "h")
    assert metrics.refusals("shop") == {"bad_signature": 1}


async def test_a_probe_of_doctor_is_counted_and_not_logged(lines: io.StringIO) -> None:
    metrics, own = Metrics(), log.get("own")
    refused = RequestRefused("shop", Refused("no_secret"), "h", judged=True, probe=True)
    IntakeObserver(metrics, log.get("intake"), own).handlers()[RequestRefused](refused)
    assert await said(lines) == []
    assert metrics.refusals("shop") == {"probe": 1}


def test_the_feed_has_an_attempt_and_the_own_event_of_its_end() -> None:
    feed = Feed(ManualClock(), boot="b")
    observe = Observers(feed_handlers(feed))
    happened = ended()
    observe(happened)  # nobody watches
    with feed.watching(FeedFilter(), None) as watcher:
        feed.take(watcher)
        observe(happened)
        feed.show()
        sent = feed.take(watcher).decode()
    kinds = [line.split()[1] for line in sent.splitlines() if line.startswith("event:")]
    assert kinds == ["attempt", "delivery"]
    assert "dlv_own" in sent


@pytest.mark.parametrize(("probe", "reason"), [(False, "bad_signature"), (True, "probe")])
def test_the_feed_has_refusals(probe: bool, reason: str) -> None:
    feed = Feed(ManualClock(), boot="b")
    observe = Observers(feed_handlers(feed))
    with feed.watching(FeedFilter(), None) as watcher:
        observe(RequestRefused("shop", Refused("bad_signature"), "h", judged=True, probe=probe))
        feed.show()
        sent = feed.take(watcher).decode()
    assert "event: refusal" in sent
    assert f'"reason":"{reason}","status":401,"peer":"h"' in sent


def test_where_the_store_is_looked_into_new_deliveries_are_not_told_twice() -> None:
    feed, looks = Feed(ManualClock(), boot="b"), list[int]()
    observe = Observers(feed_handlers(feed, lambda: looks.append(1)))
    with feed.watching(FeedFilter(), None) as watcher:
        feed.take(watcher)
        observe(ended())
        feed.show()
        sent = feed.take(watcher).decode()
    assert sent.count("event: attempt") == sent.count("event:") == 1
    assert looks == [1]


async def test_a_sender_has_the_name_that_its_endpoint_gives_it() -> None:
    """In the live feed and on the labels of metrics; the store keeps the canonical one."""
    metrics, feed = Metrics(), Feed(ManualClock(), boot="b")
    intake = IntakeObserver(metrics, log.get("intake"), log.get("own"))
    observe = Observers(intake.handlers(), feed_handlers(feed))
    shop = Endpoint("shop", "commerce", ("/wh_x",), ("shop",), api=Api(spelling="shopify"))
    delivery = a_delivery(provider="commerce")
    stored = DeliveryStored(
        LiveEndpoint(shop, builtin()["commerce"], "shop", 1, frozenset({"POST"})),
        Acceptance(delivery, (), ()),
        Plan("routed", (), (), (), (), ()),
        Accepted(delivery.id),
        None,
        0.01,
    )
    with feed.watching(FeedFilter(), None) as watcher:
        feed.take(watcher)
        observe(stored)
        feed.show()
        sent = feed.take(watcher)
    assert b'"provider":"shopify"' in sent
    assert b"commerce" not in sent
    acknowledged = "router_ack_seconds_count"
    assert metrics.value(acknowledged, provider="shopify") == 1
    assert metrics.value(acknowledged, provider="commerce") == 0
