"""
CORRIDOR IN: judge, read, route, commit, answer.

Nothing is read before it is proved genuine, and no 2xx leaves before the store has committed.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from router.clock import Clock
from router.errors import StoreUnavailable
from router.log import Log
from router.metrics import Metrics
from router.model.addresses import in_ranges
from router.model.delivery import Delivery, InboundRequest, Refused, Verified
from router.model.headers import kept_headers
from router.model.ids import Ids
from router.model.job import NewJob, committed
from router.model.leased import Work
from router.model.settings import PUBLISHED, Endpoint
from router.providers import Reading
from router.refusals import PROBE, KeptRefusals, is_probe
from router.rules.live import LiveEndpoint, LiveRef, LiveRuleset
from router.rules.plan import JOBS_MAX, Plan, Planner
from router.store.protocol import Store
from router.store.values import Acceptance, Accepted, Duplicate, EventEntry, Selector, narrowed
from router.structure import Weighed, weigh

RING_SIZE = 500
RETRY_AFTER_S = 5
NAMES_SHOWN = 10
TIMED_EVERY = 16
ODD_VERSIONS_MAX = 100
LARGE_BODY = 1024 * 1024
PAUSE_S = 0.001
"""
For each MiB of a large body, between its long steps, about as long as one takes: whoever has come
meanwhile is stored and answered.
"""
API_VERSION_FLAG = "api_version"
_WORDS = {401: b"unauthorized", 403: b"forbidden"}
_STRANGERS = frozenset({"address_not_allowed", "ranges_unknown"})


class Reply(msgspec.Struct, frozen=True):
    """
    What to answer. `retry_after` in seconds; `close` ends the connection; `challenge` is the
    `WWW-Authenticate` of a 401.
    """

    status: int
    body: bytes
    content_type: str = "application/json"
    close: bool = False
    retry_after: int | None = None
    challenge: bytes | None = None


class Handover(Protocol):
    """What intake asks of dispatch; see `dispatch.Dispatcher`."""

    def reserve(self, target: str, kind: Any) -> str | None: ...

    def release(self, lease: str, *, unsure: bool = False) -> None: ...

    def hand_over(self, works: Sequence[Work]) -> None: ...

    def wake(
        self, target: str, due_at: int, kind: Any = None, fresh: tuple[str, str] | None = None
    ) -> None: ...


Published = Callable[[Endpoint], tuple[str, ...] | None]
"""The address ranges that an endpoint's sender publishes; None: not known yet."""

UNAVAILABLE = Reply(503, b'{"error":"unavailable"}', close=True, retry_after=RETRY_AFTER_S)


class Intake:
    """The one way in. Every request ends in a Reply; none raises."""

    def __init__(
        self,
        *,
        live: LiveRef,
        store: Store,
        dispatch: Handover,
        clock: Clock,
        ids: Ids,
        metrics: Metrics,
        log: Log,
        published: Published = lambda _: None,
    ) -> None:
        self._published = published
        self._odd_versions: dict[tuple[str, str], None] = {}
        self._live = live
        self._store = store
        self._dispatch = dispatch
        self._clock = clock
        self._ids = ids
        self._metrics = metrics
        self._log = log
        self._planners: tuple[LiveRuleset, Planner] | None = None
        self.ring: deque[dict[str, Any]] = deque(maxlen=RING_SIZE)
        self.kept = KeptRefusals()
        self.full = False
        self._routings = -1  # so that the first one is timed
        self.told: Callable[[Delivery, Plan, Accepted | Duplicate], None] | None = None

    def find(self, raw_path: bytes) -> LiveEndpoint | None:
        """The endpoint at exactly this raw path."""
        return self._live.current.doors.get(raw_path)

    def refuse(
        self,
        door: LiveEndpoint | None,
        reason: str,
        status: int,
        peer: str,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Count a refusal that the web door made itself (size, deadline, method)."""
        self._refused(door, Refused(reason, status), peer, headers, None)

    async def accept(self, door: LiveEndpoint, request: InboundRequest) -> Reply:
        """
        Judge one request and, if it is genuine, make it durable before answering.

        The answer is 200 (accepted, duplicate), 401, 403, or 503 when the store cannot commit.
        """
        started = self._clock.monotonic()
        live = self._live.current
        peer = request.peer
        verdict = self._judge(live, door, request, peer)
        if isinstance(verdict, Refused):
            return self._refused(door, verdict, peer, request.headers, request)
        if door.provider.particular:
            reply = self._greeted(door, request)
            if reply is not None:
                return reply
            request = door.provider.hidden(request)
        large = len(request.body) > LARGE_BODY
        weighed = await self._weighed(request.body) if large else None
        if self.full:
            return UNAVAILABLE
        delivery, plan = self._routed(live, door, request, verdict, weighed)
        plan = _without_payloads(plan) if large else plan
        try:
            if large:
                await self._let_others_go(request.body)
            receipt = await self._store.accept(acceptance(delivery, plan, door))
        except StoreUnavailable as error:
            self._release(plan.jobs, unsure=True)
            self._log.error("store unavailable", endpoint=door.name, error=str(error))
            return UNAVAILABLE
        except BaseException:
            self._release(plan.jobs, unsure=True)
            raise
        self._settle_in(door, delivery, plan, receipt, verdict, started)
        if isinstance(receipt, Duplicate) and door.endpoint.on_redelivery == "revive":
            await self._revive(receipt.delivery)
        return _reply(door, receipt)

    def _judge(
        self, live: LiveRuleset, door: LiveEndpoint, request: InboundRequest, peer: str
    ) -> Verified | Refused:
        endpoint = door.endpoint
        if endpoint.allow_from and (stranger := self._stranger(endpoint, peer)):
            return stranger
        now = self._clock.now()
        secrets = live.secrets.verifying(endpoint.secrets, now)
        if door.provider.particular and request.method not in door.provider.methods:
            return door.provider.asked(request, secrets)
        if endpoint.unsigned:
            return door.provider.accept_unsigned(request)
        return door.provider.verify(request, secrets, now_ms=now, tolerance_s=endpoint.tolerance_s)

    async def _weighed(self, body: bytes) -> Weighed:
        """Count what a large body holds; others go before that and before it is decoded."""
        await self._let_others_go(body)
        weighed = weigh(body)
        await self._let_others_go(body)
        return weighed

    async def _let_others_go(self, body: bytes) -> None:
        await self._clock.sleep(PAUSE_S * len(body) / LARGE_BODY)

    def _greeted(self, door: LiveEndpoint, request: InboundRequest) -> Reply | None:
        """The answer to a handshake, which is stored and routed nowhere."""
        text = door.provider.answer(request)
        if text is None:
            return None
        self._metrics.delivered(door.name, "handshake")
        self._log.info("handshake", endpoint=door.name, peer=request.peer)
        return Reply(200, text, "text/plain; charset=utf-8")

    def _stranger(self, endpoint: Endpoint, peer: str) -> Refused | None:
        """Who may not deliver here. Ranges that nobody knows yet let nobody in."""
        if in_ranges(peer, tuple(r for r in endpoint.allow_from if r != PUBLISHED)):
            return None
        if PUBLISHED in endpoint.allow_from:
            published = self._published(endpoint)
            if published is None:
                return Refused("ranges_unknown", 503)
            if in_ranges(peer, published):
                return None
        return Refused("address_not_allowed", 403)

    def _routed(
        self,
        live: LiveRuleset,
        door: LiveEndpoint,
        request: InboundRequest,
        verdict: Verified,
        weighed: Weighed | None,
    ) -> tuple[Delivery, Plan]:
        """Read and route it; every so often that is timed, as timing costs as much as a match."""
        self._routings += 1
        if self._routings % TIMED_EVERY:
            return self._plan(live, door, request, verdict, weighed)
        began = self._clock.monotonic()
        routed = self._plan(live, door, request, verdict, weighed)
        self._metrics.routed(self._clock.monotonic() - began)
        return routed

    def _plan(
        self,
        live: LiveRuleset,
        door: LiveEndpoint,
        request: InboundRequest,
        verdict: Verified,
        weighed: Weighed | None,
    ) -> tuple[Delivery, Plan]:
        now = request.received_at
        reading = door.provider.read(request, weighed)
        if door.endpoint.api_version is not None:
            reading = self._versioned(door, request, reading)
        draft = Delivery(
            id=self._ids.new("dlv", now),
            endpoint=door.name,
            provider=door.endpoint.provider,
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
        plan = self._planner(live).plan(draft, reading, door.endpoint, now)
        if plan.state == "routed" and not plan.flags:
            return draft, plan
        return msgspec.structs.replace(draft, state=plan.state, flags=plan.flags), plan

    def _versioned(self, door: LiveEndpoint, request: InboundRequest, reading: Reading) -> Reading:
        """The reading, flagged if the delivery bears another API version than it should."""
        version, expected = door.provider.api_version(request), door.endpoint.api_version
        if version is None or version == expected:
            return reading
        self._metrics.version_differed(door.name)
        odd = (door.name, version[:20])
        # Said once each: a sender that has moved on says the same with every delivery.
        if odd not in self._odd_versions and len(self._odd_versions) < ODD_VERSIONS_MAX:
            self._odd_versions[odd] = None
            said = {"endpoint": odd[0], "version": odd[1], "expected": expected}
            self._log.at("warning", "another api version", said)
        return msgspec.structs.replace(reading, flags=(*reading.flags, API_VERSION_FLAG))

    def _planner(self, live: LiveRuleset) -> Planner:
        if self._planners is None or self._planners[0] is not live:
            self._planners = (live, Planner(live, self._ids, self._dispatch.reserve))
        return self._planners[1]

    def _settle_in(
        self,
        door: LiveEndpoint,
        delivery: Delivery,
        plan: Plan,
        receipt: Accepted | Duplicate,
        verdict: Verified,
        started: float,
    ) -> None:
        """After the commit: start or release the jobs, count, and say one line."""
        if verdict.secret is not None:
            self._metrics.secret_used(verdict.secret, delivery.received_at)
        if isinstance(receipt, Duplicate):
            self._release(plan.jobs)
            self._metrics.delivered(door.name, "duplicate")
        else:
            for reason in receipt.cancelled:
                self._metrics.cancelled(reason)
            for rule in plan.ungrouped:
                self._metrics.ungrouped(rule)
            self._start(delivery, plan, receipt.new)
            self._count(door, delivery, plan)
        if self.told is not None:  # only while somebody watches
            self.told(delivery, plan, receipt)
        took = self._clock.monotonic() - started
        self._metrics.acked(door.endpoint.provider, took, door.provider.ack_within_s)
        self._log.info(
            "delivery",
            endpoint=door.name,
            delivery=receipt.delivery,
            verdict="duplicate" if isinstance(receipt, Duplicate) else "accepted",
            state=delivery.state,
            events=_first([e.name for e in plan.events]),
            rules=_first([j.rule for j in plan.jobs]),
            ms=round(took * 1000, 1),
        )

    async def _revive(self, delivery: str) -> None:
        """A redelivery of work that died opens it again; nothing is routed anew."""
        chosen = Selector(ids=(delivery,), state="dead", limit=JOBS_MAX)
        try:
            if await self._store.revive(chosen, now=self._clock.now()):
                for target, due_at in (await self._store.reads.targets()).items():
                    self._dispatch.wake(target, due_at)
        except StoreUnavailable as error:
            self._log.error("could not revive", delivery=delivery, error=str(error))

    def _start(self, delivery: Delivery, plan: Plan, new: frozenset[int] | None) -> None:
        """Hand the leased jobs over, name the others' targets; drop those of known events."""
        events = {e.index: e for e in plan.events}
        works: list[Work] = []
        for planned in plan.jobs:
            job = planned if new is None else narrowed(planned, entries(plan, 0), new)
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

    def _count(self, door: LiveEndpoint, delivery: Delivery, plan: Plan) -> None:
        self._metrics.delivered(door.name, delivery.state)
        count_matches(self._metrics, self._log, delivery, plan)

    def _release(self, jobs: tuple[NewJob, ...], *, unsure: bool = False) -> None:
        for job in jobs:
            if job.lease:
                self._dispatch.release(job.lease, unsure=unsure)

    def _refused(
        self,
        door: LiveEndpoint | None,
        refused: Refused,
        peer: str,
        headers: Sequence[tuple[bytes, bytes]],
        request: InboundRequest | None,
    ) -> Reply:
        if is_probe(headers, refused.reason):
            self._metrics.refused(door.name if door else None, PROBE)
        else:
            self._note(door, refused, peer, request)
        if refused.status == UNAVAILABLE.status:
            return UNAVAILABLE
        word = _WORDS.get(refused.status, b"refused")
        asks = door.provider.challenge if door and refused.status == 401 else None
        return Reply(refused.status, b'{"error":"%b"}' % word, challenge=asks)

    def _note(
        self, door: LiveEndpoint | None, refused: Refused, peer: str, request: InboundRequest | None
    ) -> None:
        """Count it, show it to who asks for the last refusals, and say a line."""
        name = door.name if door else None
        self._metrics.refused(name, refused.reason)
        now = self._clock.now()
        self.ring.append(
            {
                "at": now,
                "endpoint": name,
                "reason": refused.reason,
                "status": refused.status,
                "peer": peer,
                "hint": refused.hint,
                "kept": self._keep(door, refused, request, now) if self.kept.wanted() else None,
            }
        )
        if request is not None:
            self._log.warning(
                "refused", endpoint=name, reason=refused.reason, hint=refused.hint, peer=peer
            )
        else:  # strangers at the door can be many: only for who looks closely
            said = {"reason": refused.reason, "status": refused.status, "peer": peer}
            self._log.at("debug", "turned away", {"endpoint": name, **said})

    def _keep(
        self, door: LiveEndpoint | None, refused: Refused, request: InboundRequest | None, now: int
    ) -> str | None:
        """Keep what was judged and found unproved, without credentials; nothing of strangers."""
        if door is None or request is None or refused.reason in _STRANGERS:
            return None
        texts = kept_headers(request.headers)
        headers = tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in texts)
        clean = door.provider.hidden(msgspec.structs.replace(request, headers=headers))
        return self.kept.keep(door.name, refused.reason, now, clean)


def _reply(door: LiveEndpoint, receipt: Accepted | Duplicate) -> Reply:
    answer = door.endpoint.answer
    if answer is not None:
        text = receipt.delivery.join(answer.body)
        return Reply(answer.status, text.encode(), answer.type)
    word = b"duplicate" if isinstance(receipt, Duplicate) else b"accepted"
    return Reply(200, b'{"status":"%b","delivery":"%b"}' % (word, receipt.delivery.encode()))


def _first(names: list[str]) -> list[str]:
    """A few of the names, each once: a batch of a thousand still makes one short line."""
    return names if len(names) < 2 else list(dict.fromkeys(names))[:NAMES_SHOWN]


def count_matches(metrics: Metrics, log: Log, delivery: Delivery, plan: Plan) -> None:
    """Count which rules were asked, and what each made of each event."""
    for found in plan.matches:
        metrics.rules_asked(found.asked)
        for shadow in found.shadow:
            metrics.rule_shadowed(shadow.id)
        for rule in (*found.live, *found.shadow, *found.paused):
            metrics.rule_matched(rule.id, delivery.received_at)
        for rule_id, reason in found.errors:
            metrics.rule_erred(rule_id)
            log.debug("rule error", rule=rule_id, reason=reason, delivery=delivery.id)


def _without_payloads(plan: Plan) -> Plan:
    """For a large body of which no job begins at once: to free it later would hold up others."""
    if any(job.lease for job in plan.jobs):
        return plan
    events = tuple(msgspec.structs.replace(e, payload=None, raw=None) for e in plan.events)
    return msgspec.structs.replace(plan, events=events)


def acceptance(delivery: Delivery, plan: Plan, door: LiveEndpoint) -> Acceptance:
    """What the store is asked to commit."""
    until = delivery.received_at + door.endpoint.dedupe.window_ms
    return Acceptance(delivery, entries(plan, until), plan.jobs)


def entries(plan: Plan, until: int) -> tuple[EventEntry, ...]:
    """The plan's events as the ledger keeps them, their keys known until then."""
    return tuple(
        [
            EventEntry(e.index, e.id, e.name, e.action, e.keys, until if e.keys else 0)
            for e in plan.events
        ]
    )
