"""From a genuine request to the delivery and the plan of its jobs."""

import msgspec

from router.clock import Clock
from router.intake.judging import Genuine
from router.intake.observed import DeliveryRouted, VersionDiffered
from router.model.delivery import Delivery, InboundRequest
from router.model.headers import kept_headers
from router.model.ids import Ids
from router.model.observed import Observer
from router.providers import Reading
from router.rules.live import LiveEndpoint, LiveRuleset
from router.rules.plan import Plan, Planner, Reserve
from router.structure import MeasuredBody

TIMED_EVERY = 16
API_VERSION_FLAG = "api_version"


class Routing:
    """Reads and routes, by the ruleset that is given."""

    def __init__(self, ids: Ids, reserve: Reserve, clock: Clock, observe: Observer) -> None:
        self._ids, self._reserve, self._clock, self._observe = ids, reserve, clock, observe
        self._planners: tuple[LiveRuleset, Planner] | None = None
        self._count = -1  # so that the first one is timed

    def routed(
        self,
        live: LiveRuleset,
        endpoint: LiveEndpoint,
        genuine: Genuine,
        weighed: MeasuredBody | None,
    ) -> tuple[Delivery, Plan]:
        """Read and route it; every so often that is timed, as timing costs as much as a match."""
        self._count += 1
        if self._count % TIMED_EVERY:
            return self._plan(live, endpoint, genuine, weighed)
        began = self._clock.monotonic()
        routed = self._plan(live, endpoint, genuine, weighed)
        self._observe(DeliveryRouted(self._clock.monotonic() - began))
        return routed

    def _plan(
        self,
        live: LiveRuleset,
        endpoint: LiveEndpoint,
        genuine: Genuine,
        weighed: MeasuredBody | None,
    ) -> tuple[Delivery, Plan]:
        request = genuine.request
        now = request.received_at
        reading = endpoint.provider.read(request, weighed)
        if endpoint.settings.api_version is not None:
            reading = self._versioned(endpoint, request, reading)
        draft = Delivery(
            id=self._ids.new("dlv", now),
            endpoint=endpoint.name,
            provider=endpoint.settings.provider,
            received_at=now,
            method=request.method,
            path=request.raw_path.decode("latin-1"),
            query=request.query_string.decode("latin-1"),
            headers=kept_headers(request.headers),
            body=request.body,
            verified_by=genuine.verdict.secret,
            state="routed",
            event_count=len(reading.events),
            generation=live.ruleset.generation,
            peer=request.peer,
        )
        plan = self._planner(live).plan(
            draft, reading, endpoint.settings, now, self._clock.ledger()
        )
        if plan.state == "routed" and not plan.flags:
            return draft, plan
        return msgspec.structs.replace(draft, state=plan.state, flags=plan.flags), plan

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
