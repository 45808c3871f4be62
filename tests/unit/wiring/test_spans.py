"""What happens becomes spans that OpenTelemetry's own processors get."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from router import log as logs
from router.dispatch.observed import AttemptEnded
from router.errors import StoreUnavailable
from router.intake.observed import CommitFailed, DeliveryRouted, DeliveryStored
from router.model.job import Attempt, Settlement
from router.model.observed import Observed
from router.model.settings import Api, Endpoint
from router.model.trace import SpanIds, of_attempt, of_delivery
from router.providers import builtin
from router.rules.live import LiveEndpoint
from router.rules.plan import Plan
from router.store.values import Acceptance, Accepted, Duplicate
from router.wiring.observers import Observers
from router.wiring.spans import Spans
from tests.builders import NOW, a_delivery, a_job, an_event

CANARY = "canary-9f2c"
ENDPOINT = Endpoint("shop", "commerce", ("/wh_x",), ("shop",), api=Api(spelling="shopify"))
OURS = of_delivery(a_delivery().id)


class Rig:
    """Spans as an exporter gets them; it is 5 ms after the delivery was received."""

    def __init__(self, *processors: SpanProcessor) -> None:
        self.exporter = InMemorySpanExporter()
        kept = SimpleSpanProcessor(self.exporter)
        self.spans = Spans(
            [*processors, kept],
            {"service.name": "n", "service.instance.id": "one"},
            lambda: (NOW + 5) * 1_000_000,
            logs.get("traces"),
        )
        self.observe = Observers(self.spans.handlers())

    def made(self, happened: Observed) -> list[ReadableSpan]:
        self.exporter.clear()
        self.observe(happened)
        return list(self.exporter.get_finished_spans())

    def one(self, happened: Observed) -> ReadableSpan:
        (span,) = self.made(happened)
        return span


def stored(receipt: Accepted | Duplicate, events: Any = None, **given: Any) -> DeliveryStored:
    body = f'{{"note": "{CANARY}"}}'.encode()
    delivery = a_delivery(body=body, query=f"t={CANARY}", path=f"/wh_{CANARY}", **given)
    accepted = Acceptance(delivery, events or (an_event(payload={"note": CANARY}),), ())
    plan = Plan("routed", accepted.events, (), (), (), ())
    live = LiveEndpoint(ENDPOINT, builtin()["commerce"], "shop", 1, frozenset({"POST"}))
    return DeliveryStored(live, accepted, plan, receipt, "shop", 0.003)


def ended(outcome: Any = "succeeded", result: Any = None, own: Any = None, **job: Any) -> Observed:
    given = a_job(rule="r", action="erp", **job)
    reason = None if outcome == "succeeded" else f"HTTP 503 {CANARY}"
    attempt = Attempt(given.id, given.attempt, NOW, NOW + 7, outcome, reason, result or {}, "g")
    failure = "server" if outcome == "failed" else None
    return AttemptEnded(given, Settlement(given.id, "l", attempt, "dead", failure=failure), own)


def ids(span: ReadableSpan) -> SpanIds:
    context = span.get_span_context()
    flags = f"{context.trace_flags:02x}"
    return SpanIds(f"{context.trace_id:032x}", f"{context.span_id:016x}", flags)


def parent(span: ReadableSpan) -> str:
    assert span.parent is not None
    return f"{span.parent.span_id:016x}"


def linked(span: ReadableSpan) -> list[tuple[str, str]]:
    return [
        (f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") for link in span.links
    ]


def test_a_delivery_is_the_first_span_of_its_trace() -> None:
    span = Rig().one(stored(Accepted(a_delivery().id)))
    assert (span.name, span.kind, span.parent) == ("accept shop", SpanKind.PRODUCER, None)
    assert ids(span) == OURS._replace(flags="01")
    assert (span.start_time, span.end_time) == (NOW * 1_000_000, (NOW + 5) * 1_000_000)
    assert span.attributes == {
        "messaging.system": "webhook-rules-router",
        "messaging.operation.name": "accept",
        "messaging.operation.type": "send",
        "messaging.destination.name": "shop",
        "messaging.message.id": a_delivery().id,
        "messaging.message.body.size": 23,
        "router.provider": "shopify",
        "router.result": "accepted",
        "router.state": "routed",
        "router.events": ["orders/paid"],
    }
    assert span.resource.attributes["service.instance.id"] == "one"


def test_a_duplicate_is_linked_to_the_first() -> None:
    span = Rig().one(stored(Duplicate("dlv_first")))
    assert (span.attributes or {})["router.result"] == "duplicate"
    assert linked(span) == [of_delivery("dlv_first")[:2]]


def test_a_sender_s_trace_is_linked_and_decides_nothing() -> None:
    theirs = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
    span = Rig().one(stored(Accepted("dlv_1"), headers=(("traceparent", theirs),)))
    assert ids(span) == OURS._replace(flags="01")
    assert linked(span) == [("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")]


def test_routing_is_a_span_of_its_own_within() -> None:
    plan = Plan("routed", (), (), (), (), ())
    span = Rig().one(DeliveryRouted(0.000_25, a_delivery(), plan))
    assert (span.name, span.kind, parent(span)) == ("route shop", SpanKind.INTERNAL, OURS.span)
    assert ids(span).trace == OURS.trace
    assert (span.end_time or 0) - (span.start_time or 0) == 250_000


def test_what_cannot_be_stored_is_an_error() -> None:
    span = Rig().one(CommitFailed("shop", StoreUnavailable(CANARY), a_delivery()))
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "StoreUnavailable"


def test_an_attempt_is_a_child_of_its_delivery_and_what_the_target_was_told() -> None:
    rig, job = Rig(), a_job(attempt=2, rule="r", action="erp")
    span = rig.one(ended("failed", {"status": 503, "text": CANARY}, attempt=2))
    assert (span.name, span.kind, parent(span)) == ("attempt r/erp", SpanKind.CONSUMER, OURS.span)
    assert (span.start_time, span.end_time) == (NOW * 1_000_000, (NOW + 7) * 1_000_000)
    assert str(ids(span)) == rig.spans.traceparent(a_delivery(), job)
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes == {
        "messaging.system": "webhook-rules-router",
        "messaging.operation.name": "attempt",
        "messaging.operation.type": "process",
        "messaging.destination.name": "r/erp",
        "messaging.message.id": a_delivery().id,
        "router.endpoint": "shop",
        "router.job": job.id,
        "router.event": "orders/paid",
        "router.target": "t",
        "router.attempt": 2,
        "router.outcome": "failed",
        "http.response.status_code": 503,
        "error.type": "server",
    }


@pytest.mark.parametrize(
    ("outcome", "error"),
    [("succeeded", None), ("skipped", None), ("dead", "dead"), ("interrupted", "interrupted")],
)
def test_only_what_went_wrong_is_an_error(outcome: str, error: str | None) -> None:
    span = Rig().one(ended(outcome, {"exit": 1}, kind="shell"))
    assert (span.attributes or {})["process.exit.code"] == 1
    assert (span.attributes or {}).get("error.type") == error
    assert span.status.status_code is (StatusCode.ERROR if error else StatusCode.UNSET)


def test_a_replay_is_linked_to_what_it_replays() -> None:
    first = (OURS.trace, of_attempt("job_first", 1))
    assert linked(Rig().one(ended(replay_of="job_first"))) == [first]
    assert linked(Rig().one(ended(replay_of=a_delivery().id))) == [OURS[:2]]


def test_the_router_s_own_event_of_a_death_is_linked_to_the_attempt() -> None:
    own = Acceptance(a_delivery(id="dlv_own", endpoint="router"), (), ())
    accept, attempt = Rig().made(ended("dead", own=own))
    assert (accept.name, ids(accept).trace) == ("accept router", of_delivery("dlv_own").trace)
    assert linked(accept) == [ids(attempt)[:2]]


def test_nothing_of_a_payload_is_in_a_span() -> None:
    rig = Rig()
    for happened in (
        stored(Accepted("dlv_1")),
        ended("failed", {"status": 503, "text": CANARY}),
        CommitFailed("shop", StoreUnavailable(CANARY), a_delivery()),
    ):
        assert CANARY not in rig.one(happened).to_json()


def test_what_is_not_sampled_is_not_made_and_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    rig = Rig()
    assert rig.made(stored(Accepted("dlv_1"))) == []
    assert rig.made(ended()) == []
    assert rig.spans.traceparent(a_delivery(), a_job()).endswith("-00")


def test_a_half_is_a_half_and_each_trace_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    one, other, whole = Rig(), Rig(), 0
    for n in range(200):
        delivery = f"dlv_{n:026}"
        made = (
            one.made(stored(Accepted(delivery), id=delivery)),
            other.made(ended(delivery=delivery)),
        )
        assert len(made[0]) == len(made[1])
        whole += len(made[0])
    assert 70 < whole < 130


def test_the_usual_variables_name_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=no,deployment=test")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "hooks")
    about = Rig().one(ended()).resource.attributes
    assert (about["service.name"], about["deployment"]) == ("hooks", "test")
    assert about["service.instance.id"] == "one"


def test_a_processor_that_raises_harms_nobody() -> None:
    class Broken(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            raise ValueError("an operator's own")

    assert Rig(Broken()).made(ended()) == []
