"""The way of a request: judge, read, route, commit, answer."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from router.clock import Clock
from router.errors import StoreUnavailable
from router.intake.observed import (
    CommitFailed,
    DeliveryRouted,
    DeliveryStored,
    HandshakeAnswered,
    RequestRefused,
    ReviveFailed,
    VersionDiffered,
)
from router.intake.reply import UNAVAILABLE, Reply, of_receipt, of_refusal
from router.model.addresses import in_ranges
from router.model.delivery import Delivery, InboundRequest, Refused, Verified
from router.model.headers import kept_headers
from router.model.ids import Ids
from router.model.job import NewJob, Work, committed
from router.model.observed import Observer, unobserved
from router.model.settings import PUBLISHED, Endpoint
from router.providers import Reading
from router.refusals import Refusals, is_probe
from router.rules.live import LiveEndpoint, LiveRef, LiveRuleset
from router.rules.plan import JOBS_MAX, Plan, Planner
from router.store.protocol import IntakeStore
from router.store.values import Acceptance, Duplicate, EventEntry, Selector, narrowed
from router.structure import MeasuredBody, weigh


def acceptance(delivery: Delivery, plan: Plan, endpoint: LiveEndpoint, now: int) -> Acceptance:
    """A delivery, its events with the keys that are known from `now` on, and its jobs."""
    until = now + endpoint.settings.dedupe.window_ms
    entries = tuple(
        [
            EventEntry(e.index, e.id, e.name, e.action, e.keys, until if e.keys else 0)
            for e in plan.events
        ]
    )
    return Acceptance(delivery, entries, plan.jobs)


TIMED_EVERY = 16
LARGE_BODY = 1024 * 1024
PAUSE_S = 0.001
"""
For each MiB of a large body, between its long steps, about as long as one takes: whoever has come
meanwhile is stored and answered.
"""
API_VERSION_FLAG = "api_version"
_STRANGERS = frozenset({"address_not_allowed", "ranges_unknown"})


class DispatchPort(Protocol):
    """What intake asks of dispatch; see `dispatch.Dispatcher`."""

    def reserve(self, target: str, kind: Any) -> str | None:
        """A lease for a job that could start at once."""

    def release(self, lease: str, *, unsure: bool = False) -> None:
        """Give a reserved lease back."""

    def hand_over(self, works: Sequence[Work]) -> None:
        """Start jobs that were committed under reserved leases."""

    def wake(
        self, target: str, due_at: int, kind: Any = None, fresh: tuple[str, str] | None = None
    ) -> None:
        """A job was committed `available`."""


class Arrival(NamedTuple):
    """A whole request on its way in: the endpoint it is for, and whom the answer goes to."""

    endpoint: LiveEndpoint
    request: InboundRequest
    sender: Any


Answer = Callable[[Arrival, Reply], None]
"""Gives an arrival its answer; called once for each, and raises nothing."""

Published = Callable[[Endpoint], tuple[str, ...] | None]
"""The address ranges that an endpoint's sender publishes; None: not known yet."""


class IntakeChecks(NamedTuple):
    """
    What is checked before a request is let in. `published`: the address ranges of an endpoint's
    sender; `full`: whether the store has no room left.
    """

    published: Published = lambda _endpoint: None
    full: Callable[[], bool] = bool


_OPEN = IntakeChecks()


class Intake:
    """The one way in. Every request ends in a Reply; none raises."""

    def __init__(
        self,
        *,
        live: LiveRef,
        store: IntakeStore,
        dispatch: DispatchPort,
        clock: Clock,
        ids: Ids,
        observe: Observer = unobserved,
        refusals: Refusals | None = None,
        checks: IntakeChecks = _OPEN,
    ) -> None:
        self._live, self._store, self._dispatch = live, store, dispatch
        self._clock, self._ids, self._observe = clock, ids, observe
        self._refusals, self._checks = refusals or Refusals(), checks
        self._planners: tuple[LiveRuleset, Planner] | None = None
        self._routings = -1  # so that the first one is timed

    def find(self, raw_path: bytes) -> LiveEndpoint | None:
        """The endpoint at exactly this raw path."""
        return self._live.current.by_path.get(raw_path)

    def refuse(
        self,
        endpoint: LiveEndpoint | None,
        reason: str,
        status: int,
        peer: str,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Note a refusal that the listener made itself (size, deadline, method)."""
        self._refused(endpoint, Refused(reason, status), peer, headers, None)

    async def accept(self, endpoint: LiveEndpoint, request: InboundRequest) -> Reply:
        """
        Judge one request and, if it is genuine, make it durable before answering.

        The answer is 200 (accepted, duplicate), 401, 403, or 503 when the store cannot commit.
        """
        started = self._clock.monotonic()
        live = self._live.current
        verdict = self._judge(live, endpoint, request)
        if isinstance(verdict, Refused):
            return self._refused(endpoint, verdict, request.peer, request.headers, request)
        if endpoint.provider.particular:
            text = endpoint.provider.answer(request)
            if text is not None:  # a handshake
                self._observe(HandshakeAnswered(endpoint.name, request.peer))
                return Reply(200, text, "text/plain; charset=utf-8")
            request = endpoint.provider.hidden(request)
        large = len(request.body) > LARGE_BODY
        weighed = await self._weighed(request.body) if large else None
        if self._checks.full():
            return UNAVAILABLE
        delivery, plan = self._routed(live, endpoint, request, verdict, weighed)
        plan = _without_payloads(plan) if large else plan
        try:
            if large:
                await self._let_others_go(request.body)
            accepted = acceptance(delivery, plan, endpoint, self._clock.ledger())
            receipt = await self._store.accept(accepted)
        except StoreUnavailable as error:
            self._release(plan.jobs, unsure=True)
            self._observe(CommitFailed(endpoint.name, error))
            return UNAVAILABLE
        except BaseException:
            self._release(plan.jobs, unsure=True)
            raise
        if isinstance(receipt, Duplicate):
            self._release(plan.jobs)
        else:
            self._start(accepted, plan, receipt.new)
        took = self._clock.monotonic() - started
        self._observe(DeliveryStored(endpoint, accepted, plan, receipt, verdict.secret, took))
        if isinstance(receipt, Duplicate) and endpoint.settings.on_redelivery == "revive":
            await self._revive(receipt.delivery)
        return of_receipt(endpoint, receipt)

    async def accept_group(self, arrivals: Sequence[Arrival], answer: Answer) -> None:
        """As `accept`, of small requests that came together, in their order."""

        async def accept(arrival: Arrival) -> None:
            answer(arrival, await self.accept(arrival.endpoint, arrival.request))

        await asyncio.gather(*map(accept, arrivals))

    def _judge(
        self, live: LiveRuleset, endpoint: LiveEndpoint, request: InboundRequest
    ) -> Verified | Refused:
        settings = endpoint.settings
        if settings.allow_from and (stranger := self._stranger(settings, request.peer)):
            return stranger
        now = self._clock.now()
        secrets = live.secrets.verifying(settings.secrets, now)
        if endpoint.provider.particular and request.method not in endpoint.provider.methods:
            return endpoint.provider.verify_handshake(request, secrets)
        if settings.unsigned:
            return endpoint.provider.accept_unsigned(request)
        return endpoint.provider.verify(
            request, secrets, now_ms=now, tolerance_s=settings.tolerance_s
        )

    async def _weighed(self, body: bytes) -> MeasuredBody:
        """Count what a large body holds; others go before that and before it is decoded."""
        await self._let_others_go(body)
        weighed = weigh(body)
        await self._let_others_go(body)
        return weighed

    async def _let_others_go(self, body: bytes) -> None:
        await self._clock.sleep(PAUSE_S * len(body) / LARGE_BODY)

    def _stranger(self, endpoint: Endpoint, peer: str) -> Refused | None:
        """Who may not deliver here. Ranges that nobody knows yet let nobody in."""
        if in_ranges(peer, tuple(r for r in endpoint.allow_from if r != PUBLISHED)):
            return None
        if PUBLISHED in endpoint.allow_from:
            published = self._checks.published(endpoint)
            if published is None:
                return Refused("ranges_unknown", 503)
            if in_ranges(peer, published):
                return None
        return Refused("address_not_allowed", 403)

    def _routed(
        self,
        live: LiveRuleset,
        endpoint: LiveEndpoint,
        request: InboundRequest,
        verdict: Verified,
        weighed: MeasuredBody | None,
    ) -> tuple[Delivery, Plan]:
        """Read and route it; every so often that is timed, as timing costs as much as a match."""
        self._routings += 1
        if self._routings % TIMED_EVERY:
            return self._plan(live, endpoint, request, verdict, weighed)
        began = self._clock.monotonic()
        routed = self._plan(live, endpoint, request, verdict, weighed)
        self._observe(DeliveryRouted(self._clock.monotonic() - began))
        return routed

    def _plan(
        self,
        live: LiveRuleset,
        endpoint: LiveEndpoint,
        request: InboundRequest,
        verdict: Verified,
        weighed: MeasuredBody | None,
    ) -> tuple[Delivery, Plan]:
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
            verified_by=verdict.secret,
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
            self._planners = (live, Planner(live, self._ids, self._dispatch.reserve))
        return self._planners[1]

    async def _revive(self, delivery: str) -> None:
        """A redelivery of work that died opens it again; nothing is routed again."""
        chosen = Selector(ids=(delivery,), state="dead", limit=JOBS_MAX)
        try:
            if await self._store.revive(chosen, now=self._clock.ledger()):
                for target, due_at in (await self._store.reads.targets()).items():
                    self._dispatch.wake(target, due_at)
        except StoreUnavailable as error:
            self._observe(ReviveFailed(delivery, error))

    def _start(self, accepted: Acceptance, plan: Plan, new: frozenset[int] | None) -> None:
        """Hand the leased jobs over, name the others' targets; drop those of known events."""
        delivery, works = accepted.delivery, list[Work]()
        events = {e.index: e for e in plan.events}
        for planned in plan.jobs:
            job = planned if new is None else narrowed(planned, accepted.events, new)
            if job is None:
                if planned.lease:
                    self._dispatch.release(planned.lease)
            elif job.lease:
                begun = committed(job, delivery, delivery.received_at)
                works.append(Work(begun, delivery, events[job.event_index]))
            elif job.state == "available":
                fresh = delivery.endpoint, job.id
                self._dispatch.wake(job.target, job.due_at, job.kind, fresh)
        if works:
            self._dispatch.hand_over(works)

    def _release(self, jobs: tuple[NewJob, ...], *, unsure: bool = False) -> None:
        for job in jobs:
            if job.lease:
                self._dispatch.release(job.lease, unsure=unsure)

    def _refused(
        self,
        endpoint: LiveEndpoint | None,
        refused: Refused,
        peer: str,
        headers: Sequence[tuple[bytes, bytes]],
        request: InboundRequest | None,
    ) -> Reply:
        name, probe = endpoint.name if endpoint else None, is_probe(headers, refused.reason)
        self._observe(RequestRefused(name, refused, peer, judged=request is not None, probe=probe))
        if not probe:
            now = self._clock.now()
            self._refusals.add(
                {
                    "at": now,
                    "endpoint": name,
                    "reason": refused.reason,
                    "status": refused.status,
                    "peer": peer,
                    "hint": refused.hint,
                    "kept": self._keep(endpoint, refused, request, now),
                }
            )
        return of_refusal(endpoint, refused)

    def _keep(
        self,
        endpoint: LiveEndpoint | None,
        refused: Refused,
        request: InboundRequest | None,
        now: int,
    ) -> str | None:
        """Keep what was judged and found unproved, without credentials; nothing of strangers."""
        if endpoint is None or request is None or refused.reason in _STRANGERS:
            return None
        if not self._refusals.wanted():
            return None
        texts = kept_headers(request.headers)
        headers = tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in texts)
        clean = endpoint.provider.hidden(msgspec.structs.replace(request, headers=headers))
        return self._refusals.keep(endpoint.name, refused.reason, now, clean)


def _without_payloads(plan: Plan) -> Plan:
    """For a large body of which no job begins at once: to free it later would hold up others."""
    if any(job.lease for job in plan.jobs):
        return plan
    events = tuple(msgspec.structs.replace(e, payload=None, raw=None) for e in plan.events)
    return msgspec.structs.replace(plan, events=events)
