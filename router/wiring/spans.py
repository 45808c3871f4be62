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
from threading import Thread
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from router import __version__
from router.dispatch.observed import AttemptEnded, JobCorrupt
from router.intake.observed import CommitFailed, DeliveryRouted, DeliveryStored
from router.kinds import KINDS
from router.log import Log
from router.model.delivery import Delivery
from router.model.job import Job
from router.model.observed import Observed
from router.model.trace import SpanIds, of_attempt, of_delivery, of_sender
from router.serving.own_events import OwnEventStored
from router.store.values import Acceptance, Duplicate
from router.wiring.observers import Handlers, first_names

NAME = "webhook-rules-router"
LAST_S = 2.0
"""How long the last spans may take to be sent as the router stops."""
_MS = 1_000_000
_ROOT = Context()
_CODES = {"status": "http.response.status_code", "exit": "process.exit.code"}

Attributes = dict[str, Any]


class _GivenIds(IdGenerator):
    """Ids that were told before: those of a span follow from what it is of."""

    trace = span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


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
        self._ids, self._now_ns, self._log = _GivenIds(), now_ns, log
        self._provider = TracerProvider(
            resource=Resource.create(resource).merge(OTELResourceDetector().detect()),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        for processor in processors:
            self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer(NAME, __version__)
        self._failed = False

    def handlers(self) -> Handlers:
        """By the type of what is observed."""
        several: dict[type[Observed], Callable[[Any], object]] = {
            AttemptEnded: self._attempt_ended,
            CommitFailed: self._not_stored,
            DeliveryRouted: self._routed,
            DeliveryStored: self._stored,
            JobCorrupt: self._corrupt,
            OwnEventStored: lambda e: self._own(e.accepted),
        }
        return {kind: self._harmless(make) for kind, make in several.items()}

    def traceparent(self, _delivery: Delivery, job: Job) -> str:
        """The span that an attempt of this job will be."""
        accepted = self._accepted(job.delivery)
        return str(accepted._replace(span=of_attempt(job.id, job.attempt)))

    async def close(self) -> None:
        """Send what is left, for as long as there is time."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def end() -> None:
            self._provider.shutdown()
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

    def _accepted(self, delivery: str) -> SpanIds:
        ids = of_delivery(delivery)
        return ids._replace(flags="01") if self._is_sampled(int(ids.trace, 16)) else ids

    def _is_sampled(self, trace: int) -> bool:
        try:
            asked = self._provider.sampler.should_sample(_ROOT, trace, NAME)
        except Exception:  # noqa: BLE001 - a sampler of the operator's own: the job goes on
            return False
        return asked.decision is Decision.RECORD_AND_SAMPLE

    # -- what happens --------------------------------------------------------------------------

    def _stored(self, e: DeliveryStored) -> None:
        delivery, known = e.accepted.delivery, isinstance(e.receipt, Duplicate)
        began = self._now_ns() - int(e.seconds * 1e9)
        if began - delivery.received_at * _MS > _MS:  # it waited for the group before it
            began = delivery.received_at * _MS
        more: Attributes = {"router.result": "duplicate" if known else "accepted"}
        more["router.provider"] = e.endpoint.settings.shown_provider
        links = [of_delivery(e.receipt.delivery)] if known else []
        self._accept(e.accepted, links, began, more)

    def _corrupt(self, e: JobCorrupt) -> None:
        if e.own is not None:
            self._own(e.own)

    def _own(self, own: Acceptance, *links: SpanIds) -> None:
        """An event of the router's own."""
        self._accept(own, links, own.delivery.received_at * _MS, {"router.result": "accepted"})

    def _accept(
        self, accepted: Acceptance, links: Sequence[SpanIds], began: int, more: Attributes
    ) -> None:
        delivery, sender = accepted.delivery, of_sender(accepted.delivery)
        names = first_names([one.name for one in accepted.events])
        more |= {"router.state": delivery.state, "router.events": names}
        more["messaging.message.body.size"] = len(delivery.body)
        if len(accepted.events) > 1:
            more["messaging.batch.message_count"] = len(accepted.events)
        self._sent(delivery, began, more, (*links, sender) if sender else links)

    def _not_stored(self, e: CommitFailed) -> None:
        more = {"router.result": "failed", "error.type": type(e.error).__name__}
        self._sent(e.delivery, e.delivery.received_at * _MS, more, ())

    def _sent(
        self, delivery: Delivery, began: int, more: Attributes, links: Sequence[SpanIds]
    ) -> None:
        attributes = _of_message("accept", "send", delivery.endpoint, delivery.id)
        ids, end = self._accepted(delivery.id), self._now_ns()
        self._span(ids, None, SpanKind.PRODUCER, (began, end), attributes | more, links)

    def _routed(self, e: DeliveryRouted) -> None:
        accepted, end = self._accepted(e.delivery.id), self._now_ns()
        attributes = {
            "messaging.operation.name": "route",
            "messaging.destination.name": e.delivery.endpoint,
            "router.rules": first_names([job.rule for job in e.plan.jobs]),
            "router.jobs": len(e.plan.jobs),
        }
        ids = accepted._replace(span=of_attempt(e.delivery.id, 0))
        took = (end - int(e.seconds * 1e9), end)
        self._span(ids, accepted, SpanKind.INTERNAL, took, attributes, ())

    def _attempt_ended(self, e: AttemptEnded) -> None:
        job, attempt = e.job, e.settlement.attempt
        accepted = self._accepted(job.delivery)
        ids = accepted._replace(span=of_attempt(job.id, attempt.number))
        if e.own is not None:
            self._own(e.own, ids)
        attributes = _of_message("attempt", "process", f"{job.rule}/{job.action}", job.delivery)
        attributes |= {
            "router.endpoint": job.endpoint,
            "router.job": job.id,
            "router.event": job.event,
            "router.target": job.target,
            "router.attempt": attempt.number,
            "router.outcome": attempt.outcome,
        }
        code = KINDS[job.kind].result.code
        if code in _CODES and code in attempt.result:
            attributes[_CODES[code]] = attempt.result[code]
        if attempt.outcome not in ("succeeded", "dry", "skipped"):
            attributes["error.type"] = e.settlement.failure or attempt.outcome
        links: Sequence[SpanIds] = ()
        if job.replay_of is not None:
            attributes["router.replay_of"] = job.replay_of
            first = of_attempt(job.replay_of, 1)
            links = [accepted._replace(span=first) if job.replay_of[:4] == "job_" else accepted]
        took = (attempt.started_at * _MS, attempt.ended_at * _MS)
        self._span(ids, accepted, SpanKind.CONSUMER, took, attributes, links)

    def _span(
        self,
        ids: SpanIds,
        parent: SpanIds | None,
        kind: SpanKind,
        took: tuple[int, int],
        attributes: Attributes,
        links: Sequence[SpanIds],
    ) -> None:
        given, (began, end) = self._ids, took
        given.trace, given.span = int(ids.trace, 16), int(ids.span, 16)
        verb, place = attributes["messaging.operation.name"], "messaging.destination.name"
        span = self._tracer.start_span(
            f"{verb} {attributes[place]}",
            _ROOT if parent is None else set_span_in_context(NonRecordingSpan(_context(parent))),
            kind,
            attributes,
            [Link(_context(one)) for one in links],
            began,
        )
        if "error.type" in attributes:
            span.set_status(StatusCode.ERROR)
        span.end(max(began, end))


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
    return SpanContext(int(ids.trace, 16), int(ids.span, 16), is_remote=True, trace_flags=flags)
