"""From a genuine request to the delivery and the plan of its jobs."""

from typing import Any, NamedTuple

import msgspec

from router.clock import Clock
from router.intake.judging import Genuine
from router.intake.observed import DeliveryRouted, VersionDiffered
from router.model.delivery import (
    RECOVERED,
    Delivery,
    DeliveryEvent,
    InboundRequest,
    Verified,
    as_request,
)
from router.model.headers import kept_headers
from router.model.ids import Ids
from router.model.observed import Observer
from router.model.settings import Redact
from router.providers import ReadEvent, Reading
from router.rules.answers import answer_scope
from router.rules.live import LiveEndpoint, LiveRuleset
from router.rules.plan import Plan, Planner, Reserve
from router.rules.redacting import taken_out
from router.rules.scope import event_scope
from router.store.values import Acceptance
from router.structure import MeasuredBody

TIMED_EVERY = 16
API_VERSION_FLAG = "api_version"


class Arrival(NamedTuple):
    """
    A whole request on its way in: the endpoint it is for, and whom the answer goes to. `genuine`:
    it was judged before, since others had to be asked.
    """

    endpoint: LiveEndpoint
    request: InboundRequest
    sender: Any = None
    genuine: Genuine | None = None


class Admitted(NamedTuple):
    """
    A genuine request with all that is to be stored of it. `asked`: what its endpoint's answer is
    made of, None for one that no request changes.
    """

    arrival: Arrival
    verdict: Verified
    plan: Plan
    accepted: Acceptance
    asked: dict[str, Any] | None = None


def acceptance(delivery: Delivery, plan: Plan, endpoint: LiveEndpoint, now: int) -> Acceptance:
    """A delivery, its events with the keys that are known from `now` on, and its jobs."""
    until = now + endpoint.settings.dedupe.window_ms
    return Acceptance(delivery, plan.events, plan.jobs, until)


def _left_of(event: DeliveryEvent, read: ReadEvent | None) -> DeliveryEvent:
    """An event as its redacted body has it; one that nobody can read any more has no payload."""
    payload, raw, fields = (
        (None, None, {}) if read is None else (read.payload, read.raw, read.fields)
    )
    return msgspec.structs.replace(event, payload=payload, raw=raw, fields=fields)


class Routing:
    """Reads and routes, by the ruleset that is given."""

    def __init__(
        self, ids: Ids, reserve: Reserve, clock: Clock, observe: Observer, timed_every: int
    ) -> None:
        self._ids, self._reserve, self._clock, self._observe = ids, reserve, clock, observe
        self._timed_every = timed_every
        self._planners: tuple[LiveRuleset, Planner] | None = None
        self._count = -1  # so that the first one is timed

    def admitted(
        self,
        live: LiveRuleset,
        arrival: Arrival,
        genuine: Genuine,
        weighed: MeasuredBody | None = None,
    ) -> Admitted:
        """Read and route it; every so often that is timed, as timing costs as much as a match."""
        self._count += 1
        began = None if self._count % self._timed_every else self._clock.monotonic()
        endpoint, (request, verdict), ledger = arrival.endpoint, genuine, self._clock.ledger()
        reading = endpoint.provider.read(request, weighed)
        if endpoint.settings.api_version is not None:
            reading = self._versioned(endpoint, request, reading)
        if verdict.recovered:
            reading = msgspec.structs.replace(reading, flags=(*reading.flags, RECOVERED))
        now = request.received_at
        delivery = Delivery(
            id=self._ids.new("dlv", now),
            endpoint=endpoint.name,
            provider=endpoint.settings.provider,
            received_at=now,
            method=request.method,
            path=request.raw_path.decode("latin-1"),
            query=request.query_string.decode("latin-1"),
            headers=kept_headers(request.headers),
            body=request.body,
            verified_by=verdict.secret,
            state="routed",
            event_count=len(reading.events),
            generation=live.ruleset.generation,
            peer=request.peer,
        )
        plan = self._planner(live).plan(delivery, reading, endpoint.settings, now, ledger)
        if plan.flags or plan.state != "routed":
            delivery = msgspec.structs.replace(delivery, state=plan.state, flags=plan.flags)
        asked = None
        if endpoint.made is not None and not verdict.recovered:
            asked = answer_scope(delivery, endpoint.provider.payload(request, reading, weighed))
        redact = endpoint.settings.redact
        if redact is not None and redact.when == "stored":
            delivery, plan = self._redacted(redact, live, endpoint, delivery, plan, reading)
        if began is not None:
            self._observe(DeliveryRouted(self._clock.monotonic() - began, delivery, plan))
        accepted = acceptance(delivery, plan, endpoint, ledger)
        return Admitted(arrival, verdict, plan, accepted, asked)

    def _redacted(
        self,
        redact: Redact,
        live: LiveRuleset,
        endpoint: LiveEndpoint,
        delivery: Delivery,
        plan: Plan,
        reading: Reading,
    ) -> tuple[Delivery, Plan]:
        """Both as they are stored, and as its jobs see them: without what is never stored."""
        ruleset = live.ruleset
        taken = taken_out(delivery, redact, endpoint.provider, delivery.received_at, reading)
        delivery = taken.delivery
        again = taken.read or endpoint.provider.read(as_request(delivery))
        left = {e.index: e for e in again.events}
        events = tuple([_left_of(event, left.get(event.index)) for event in plan.events])
        shared = ruleset.roots(delivery)
        scopes = [event_scope(shared, delivery, event, ruleset.defines) for event in events]
        plan = msgspec.structs.replace(
            plan,
            events=events,
            scopes=tuple(scopes) if plan.scopes else (),
            flags=delivery.flags,
        )
        return delivery, plan

    def _versioned(
        self, endpoint: LiveEndpoint, request: InboundRequest, reading: Reading
    ) -> Reading:
        """The reading, flagged if the delivery bears another API version than it should."""
        version, expected = endpoint.provider.api_version(request), endpoint.settings.api_version
        if version is None or expected in (None, version):
            return reading
        self._observe(VersionDiffered(endpoint.name, version[:20], expected or ""))
        return msgspec.structs.replace(reading, flags=(*reading.flags, API_VERSION_FLAG))

    def _planner(self, live: LiveRuleset) -> Planner:
        if self._planners is None or self._planners[0] is not live:
            self._planners = (live, Planner(live, self._ids, self._reserve))
        return self._planners[1]
