"""What happens reaches metrics, log and the signal."""

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
from router.wiring.observers import (
    DispatchObserver,
    IntakeObserver,
    Observers,
    signal_handlers,
)
from tests.builders import a_delivery, a_job


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


def test_what_lists_show_rings_the_signal() -> None:
    rung: list[int] = []
    observe = Observers(signal_handlers(lambda: rung.append(1)))
    observe(ended())
    observe(RequestRefused("shop", Refused("bad_signature"), "h", judged=True, probe=False))
    assert len(rung) == 2
    observe(LeaseLost(a_job()))
    assert len(rung) == 2


async def test_a_sender_has_the_name_that_its_endpoint_gives_it() -> None:
    """On the labels of metrics; the store keeps the canonical one."""
    metrics = Metrics()
    observe = IntakeObserver(metrics, log.get("intake"), log.get("own")).handlers()[DeliveryStored]
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
    observe(stored)
    acknowledged = "router_ack_seconds_count"
    assert metrics.value(acknowledged, provider="shopify") == 1
    assert metrics.value(acknowledged, provider="commerce") == 0
