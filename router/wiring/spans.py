"""
What happens becomes spans of OpenTelemetry: `accept` and `route` of a delivery, each `attempt`.

Only what is set up to record traces imports this. Names and attributes are those of the semantic
conventions for messaging: a delivery is sent to the router's own queue, and an attempt processes
it. An attempt's parent is the span in which its delivery was accepted, for a single message is
processed outside of any other span. Nothing of a payload, header, address or reason is in a span.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import Any

from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from router import __version__
from router.dispatch.observed import AttemptEnded
from router.intake.observed import CommitFailed, DeliveryRouted, DeliveryStored
from router.kinds import KINDS
from router.log import Log
from router.model.delivery import Delivery
from router.model.job import Job, Settlement
from router.model.observed import Observed
from router.model.trace import SAMPLED, SpanIds, of_attempt, of_delivery, of_sender
from router.serving.own_events import OwnEventStored
from router.store.values import Acceptance, Duplicate
from router.wiring.observers import Handlers, first_names

NAME = "webhook-rules-router"
DELIVERIES = 1_024
"""So many are remembered with whether their traces are sampled."""
LAST_S = 2.0
"""How long the last spans may take to be sent as the router stops."""
_MS = 1_000_000
_RIGHT = frozenset({"succeeded", "dry", "skipped"})
_CODES = {"status": "http.response.status_code", "exit": "process.exit.code"}

Attributes = dict[str, Any]


class Spans:
    """
    Makes spans of what is observed, and gives them to `processors`: whatever becomes of them there,
    nothing waits for it. Whether a trace is sampled is asked of the usual variables' sampler, by
    the trace's id alone, so that every process says the same of it. `now_ns` is wall time.
    """

    def __init__(
        self,
        processors: Sequence[SpanProcessor],
        resource: dict[str, str],
        now_ns: Callable[[], int],
        log: Log,
    ) -> None:
        self._processors, self._now_ns, self._log = processors, now_ns, log
        self._resource = Resource.create(resource).merge(OTELResourceDetector().detect())
        self._sampler = TracerProvider(shutdown_on_exit=False).sampler  # the variables' own
        self._scope = InstrumentationScope(NAME, __version__)
        self._recorded = lru_cache(maxsize=DELIVERIES)(self._if_sampled)
        self._failed = False

    def handlers(self) -> Handlers:
        """By the type of what is observed."""
        several: dict[type[Observed], Callable[[Any], object]] = {
            AttemptEnded: self._attempt_ended,
            CommitFailed: self._not_stored,
            DeliveryRouted: self._routed,
            DeliveryStored: self._stored,
            OwnEventStored: lambda e: self._own(e.accepted),
        }
        return {kind: self._harmless(make) for kind, make in several.items()}

    def traceparent(self, _delivery: Delivery, job: Job) -> str:
        """The span that an attempt of this job will be."""
        accepted = self._recorded(job.delivery) or of_delivery(job.delivery)
        return str(accepted._replace(span=of_attempt(job.id, job.attempt)))

    async def close(self) -> None:
        """Send what is left, for as long as there is time."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def end() -> None:
            for processor in self._processors:
                processor.shutdown()
            with suppress(RuntimeError):  # the loop did not wait
                loop.call_soon_threadsafe(ended.set)

        Thread(target=end, name="last spans", daemon=True).start()
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), LAST_S)

    def _harmless(self, make: Callable[[Any], object]) -> Callable[[Any], object]:
        """No delivery suffers from what a sampler or a processor of the operator's raises."""

        def handle(happened: Observed) -> None:
            try:
                make(happened)
            except Exception as error:  # noqa: BLE001 - see above
                if not self._failed:
                    self._failed = True
                    self._log.error("a span could not be made", exc_info=error)

        return handle

    def _if_sampled(self, delivery: str) -> SpanIds | None:
        """The span in which it was accepted; None: its trace is not sampled."""
        ids = of_delivery(delivery)
        try:
            asked = self._sampler.should_sample(None, int(ids.trace, 16), NAME)
        except Exception:  # noqa: BLE001 - a sampler of the operator's own: the job goes on
            return None
        is_sampled = asked.decision is Decision.RECORD_AND_SAMPLE
        return ids._replace(flags=SAMPLED) if is_sampled else None

    # -- what happens --------------------------------------------------------------------------

    def _stored(self, e: DeliveryStored) -> None:
        delivery, known = e.accepted.delivery, isinstance(e.receipt, Duplicate)
        began = self._now_ns() - int(e.seconds * 1e9)
        if began - delivery.received_at * _MS > _MS:  # it waited for the group before it
            began = delivery.received_at * _MS
        more = {
            "router.result": "duplicate" if known else "accepted",
            "router.provider": e.endpoint.settings.shown_provider,
        }
        self._accept(e.accepted, began, more, [of_delivery(e.receipt.delivery)] if known else [])

    def _own(self, own: Acceptance | None, *links: SpanIds) -> None:
        """An event of the router's own."""
        if own is not None:
            began = own.delivery.received_at * _MS
            self._accept(own, began, {"router.result": "accepted"}, links)

    def _accept(
        self, accepted: Acceptance, began: int, more: Attributes, links: Sequence[SpanIds]
    ) -> None:
        delivery, events = accepted.delivery, accepted.events
        if self._recorded(delivery.id) is None:
            return
        sender = of_sender(delivery)
        more["router.state"] = delivery.state
        more["router.events"] = first_names([event.name for event in events])
        more["messaging.message.body.size"] = len(delivery.body)
        if len(events) > 1:
            more["messaging.batch.message_count"] = len(events)
        self._sent(delivery, began, more, [*links, sender] if sender else links)

    def _not_stored(self, e: CommitFailed) -> None:
        more = {"router.result": "failed", "error.type": type(e.error).__name__}
        self._sent(e.delivery, e.delivery.received_at * _MS, more, [])

    def _sent(
        self, delivery: Delivery, began: int, more: Attributes, links: Sequence[SpanIds]
    ) -> None:
        if (ids := self._recorded(delivery.id)) is not None:
            attributes = _of_message("accept", "send", delivery.endpoint, delivery.id) | more
            took = began, self._now_ns()
            self._span(ids, None, SpanKind.PRODUCER, took, attributes, links)

    def _routed(self, e: DeliveryRouted) -> None:
        if (accepted := self._recorded(e.delivery.id)) is None:
            return
        end = self._now_ns()
        attributes = {
            "messaging.operation.name": "route",
            "messaging.destination.name": e.delivery.endpoint,
            "router.rules": first_names([job.rule for job in e.plan.jobs]),
            "router.jobs": len(e.plan.jobs),
        }
        ids = accepted._replace(span=of_attempt(e.delivery.id, 0))
        took = end - int(e.seconds * 1e9), end
        self._span(ids, accepted, SpanKind.INTERNAL, took, attributes, [])

    def _attempt_ended(self, e: AttemptEnded) -> None:
        job, attempt, accepted = e.job, e.settlement.attempt, self._recorded(e.job.delivery)
        if accepted is None:
            self._own(e.own)
            return
        ids = accepted._replace(span=of_attempt(job.id, attempt.number))
        self._own(e.own, ids)
        took = attempt.started_at * _MS, attempt.ended_at * _MS
        replayed = [_replayed(job.replay_of, accepted)] if job.replay_of else []
        self._span(ids, accepted, SpanKind.CONSUMER, took, _of_attempt(job, e.settlement), replayed)

    def _span(
        self,
        ids: SpanIds,
        parent: SpanIds | None,
        kind: SpanKind,
        took: tuple[int, int],
        attributes: Attributes,
        links: Sequence[SpanIds],
    ) -> None:
        """Made directly: a Tracer takes five times as long, for a span that is still under way."""
        verb, place = attributes["messaging.operation.name"], "messaging.destination.name"
        began, end = took
        span = ReadableSpan(
            f"{verb} {attributes[place]}",
            _context(ids),
            _context(parent) if parent else None,
            self._resource,
            attributes,
            links=[Link(_context(one)) for one in links],
            kind=kind,
            status=Status(StatusCode.ERROR if "error.type" in attributes else StatusCode.UNSET),
            start_time=began,
            end_time=max(began, end),
            instrumentation_scope=self._scope,
        )
        for processor in self._processors:
            processor.on_end(span)


def _of_attempt(job: Job, settlement: Settlement) -> Attributes:
    attempt, code = settlement.attempt, KINDS[job.kind].result.code
    attributes = _of_message("attempt", "process", f"{job.rule}/{job.action}", job.delivery)
    attributes |= {
        "router.endpoint": job.endpoint,
        "router.job": job.id,
        "router.event": job.event,
        "router.target": job.target,
        "router.attempt": attempt.number,
        "router.outcome": attempt.outcome,
    }
    if code in _CODES and code in attempt.result:
        attributes[_CODES[code]] = attempt.result[code]
    if attempt.outcome not in _RIGHT:
        attributes["error.type"] = settlement.failure or attempt.outcome
    if job.replay_of:
        attributes["router.replay_of"] = job.replay_of
    return attributes


def _replayed(original: str, accepted: SpanIds) -> SpanIds:
    """The first attempt of the job that is replayed; of a delivery, its own span."""
    is_job = original.startswith("job_")
    return accepted._replace(span=of_attempt(original, 1)) if is_job else accepted


def _of_message(name: str, type_: str, destination: str, delivery: str) -> Attributes:
    return {
        "messaging.system": NAME,
        "messaging.operation.name": name,
        "messaging.operation.type": type_,
        "messaging.destination.name": destination,
        "messaging.message.id": delivery,
    }


def _context(ids: SpanIds) -> SpanContext:
    flags = TraceFlags(int(ids.flags, 16))
    return SpanContext(int(ids.trace, 16), int(ids.span, 16), is_remote=False, trace_flags=flags)
