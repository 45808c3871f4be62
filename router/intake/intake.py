"""The way of requests: those that came together are judged, read, routed, committed, answered."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from router.clock import Clock
from router.errors import RouterError, StoreUnavailable
from router.intake.awaiting import Asks, KnownKeys, NothingKnown, VerdictSettler
from router.intake.judging import Genuine, Judge, Published
from router.intake.observed import (
    CommitFailed,
    DeliveryStored,
    IntakeDefect,
    ReviveFailed,
)
from router.intake.reply import UNAVAILABLE, Reply, of_receipt
from router.intake.routing import TIMED_EVERY, Admitted, Arrival, Routing
from router.intake.unpacking import PAUSE_S, Unpacker
from router.model.delivery import InboundRequest, Refused, Verified
from router.model.ids import Ids
from router.model.job import NewJob, Work, committed
from router.model.observed import Observer, unobserved
from router.model.packed import body_size, coding
from router.refusals import Refusals
from router.rules.live import LiveEndpoint, LiveRef, LiveRuleset
from router.rules.plan import JOBS_MAX, Plan
from router.store.protocol import IntakeStore
from router.store.values import Accepted, Duplicate, Selector, narrowed
from router.structure import MeasuredBody

LARGE_BODY = 1024 * 1024
_TOO_LARGE = Reply(413, b'{"error":"too_large"}')


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


Answer = Callable[[Arrival, Reply], None]
"""Gives an arrival its answer; called once for each, and raises nothing."""


class IntakeChecks(NamedTuple):
    """
    What is checked before a request is let in. `published`: the address ranges of an endpoint's
    sender; `keys`: the keys that senders publish; `asks`: others who judge
    a request; `full`: whether the store has no room left. Of the deliveries that are let in, one
    in `timed_every` has the time of its routing measured.
    """

    published: Published = lambda _endpoint: None
    full: Callable[[], bool] = bool
    keys: KnownKeys = NothingKnown()
    asks: Asks = NothingKnown()
    timed_every: int = TIMED_EVERY


_OPEN = IntakeChecks()


class Intake:
    """The one way in."""

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
        self._clock, self._observe, self._full = clock, observe, checks.full
        settler = VerdictSettler(checks.keys, checks.asks)
        self._judge = Judge(clock, checks.published, refusals or Refusals(), observe, settler)
        self._routing = Routing(ids, dispatch.reserve, clock, observe, checks.timed_every)
        self._unpacker = Unpacker(clock)

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
        self._judge.refused(endpoint, Refused(reason, status), peer, headers)

    async def accept(self, endpoint: LiveEndpoint, request: InboundRequest) -> Reply:
        """
        Judge one request and, if it is genuine, make it durable before answering.

        The answer is 200 (accepted, duplicate), 401, 403, 413 to what nobody signed and unpacks to
        too much, or 503 when the store cannot commit.
        """
        replies = list[Reply]()
        arrival = Arrival(endpoint, request)
        if endpoint.waits:
            genuine = await self._judge.waited(self._live.current, endpoint, request)
            if isinstance(genuine, Reply):
                return genuine
            arrival = arrival._replace(genuine=genuine)
        if len(request.body) > LARGE_BODY or coding(request) is not None:
            await self._accept_large(arrival, lambda _arrival, reply: replies.append(reply))
        else:
            await self.accept_group((arrival,), lambda _arrival, reply: replies.append(reply))
        return replies[0]

    async def take(
        self, endpoint: LiveEndpoint, request: InboundRequest, secret: str | None
    ) -> Accepted | Duplicate | None:
        """
        Make durable what was fetched from the sender's own API with this secret, which proves it;
        None: it cannot be stored now.
        """
        if self._full():
            return None
        started, proved = self._clock.monotonic(), Verified(secret, recovered=True)
        arrival = Arrival(endpoint, request)
        try:
            admitted = self._routing.admitted(self._live.current, arrival, (request, proved))
        except Exception as error:  # noqa: BLE001 - the others that were fetched are taken
            self._observe(IntakeDefect(endpoint.name, error))
            return None
        [receipt] = await self._commit([admitted], lambda _arrival, _reply: None, started)
        return None if isinstance(receipt, Exception) else receipt

    async def accept_group(self, arrivals: Iterable[Arrival], answer: Answer) -> None:
        """
        As `accept`, of small requests that came together, in their order: one commit, and every
        answer before anything else. Each of `arrivals` is asked for when the one before is judged.
        """
        started, live = self._clock.monotonic(), self._live.current
        group = list[Admitted]()
        for arrival in arrivals:
            found = self._admitted(live, arrival)
            if isinstance(found, Reply):
                answer(arrival, found)
            else:
                group.append(found)
        if group:
            await self._commit(group, answer, started)

    async def _accept_large(self, arrival: Arrival, answer: Answer) -> None:
        """The same of one whose every step takes long: others go between them."""
        started, live, endpoint = self._clock.monotonic(), self._live.current, arrival.endpoint
        genuine = arrival.genuine or self._judge.judged(live, arrival.endpoint, arrival.request)
        if isinstance(genuine, Reply):
            answer(arrival, genuine)
            return
        await self._let_others_go(arrival.request.body)
        async with self._unpacker.measured(genuine[0], endpoint.body_max) as weighed:
            found = await self._admitted_large(live, arrival, genuine, weighed)
        if isinstance(found, Reply):
            answer(arrival, found)
        else:
            await self._commit([found], answer, started)

    async def _admitted_large(
        self, live: LiveRuleset, arrival: Arrival, genuine: Genuine, weighed: MeasuredBody
    ) -> Admitted | Reply:
        request, endpoint, body = genuine[0], arrival.endpoint, weighed.body
        await self._let_others_go(body)
        packed = body is request.body and coding(request) is not None
        if packed and weighed.state == "too_complex" and endpoint.settings.unsigned:
            self.refuse(endpoint, "too_large", 413, request.peer, request.headers)
            return _TOO_LARGE
        if self._full():
            return UNAVAILABLE
        admitted = self._routing.admitted(live, arrival, genuine, weighed)
        body_size(admitted.accepted.delivery, body)  # so that its jobs need not unpack it to know
        try:
            await self._let_others_go(body)
        except BaseException:
            self._release(admitted.plan.jobs)
            raise
        return admitted._replace(plan=_without_payloads(admitted.plan))

    async def _let_others_go(self, body: bytes) -> None:
        await self._clock.sleep(PAUSE_S * len(body) / LARGE_BODY)

    def _admitted(self, live: LiveRuleset, arrival: Arrival) -> Admitted | Reply:
        """What is to be stored of a request, or its answer; a defect is its own alone."""
        try:
            genuine = arrival.genuine or self._judge.judged(live, arrival.endpoint, arrival.request)
            if isinstance(genuine, Reply):
                return genuine
            return UNAVAILABLE if self._full() else self._routing.admitted(live, arrival, genuine)
        except Exception as error:  # noqa: BLE001 - others wait beside it, and it must get 503
            self._observe(IntakeDefect(arrival.endpoint.name, error))
            return UNAVAILABLE

    async def _commit(
        self, group: Sequence[Admitted], answer: Answer, started: float
    ) -> Sequence[Accepted | Duplicate | Exception]:
        """Store a group and answer it; then start its jobs, and say what came of each."""
        receipts: Sequence[Accepted | Duplicate | Exception]
        try:
            receipts = await self._store.accept_all([one.accepted for one in group])
        except Exception as error:  # noqa: BLE001 - what became of it is unknown: all must get 503
            receipts = [error] * len(group)
        except BaseException:
            for one in group:
                self._release(one.plan.jobs, unsure=True)
            raise
        known = list[tuple[Admitted, Duplicate]]()
        made = list[tuple[Admitted, Accepted | Duplicate]]()
        for one, receipt in zip(group, receipts, strict=True):
            endpoint = one.arrival.endpoint
            if isinstance(receipt, Exception):
                answer(one.arrival, UNAVAILABLE)
            elif isinstance(receipt, Duplicate) and endpoint.settings.on_redelivery == "revive":
                known.append((one, receipt))
            elif one.asked is not None:
                made.append((one, receipt))
            else:
                answer(one.arrival, of_receipt(endpoint, receipt))
        for one, taken in made:  # after those whose answers take no time
            answer(one.arrival, self._made(one, taken))
        self._follow(group, receipts, self._clock.monotonic() - started)
        for one, copy in known:
            await self._revive(copy.delivery)
            answer(one.arrival, self._made(one, copy))
        return receipts

    def _made(self, one: Admitted, receipt: Accepted | Duplicate) -> Reply:
        """The endpoint's answer to this request. It is stored, so nothing may become a 503."""
        endpoint = one.arrival.endpoint
        try:
            return of_receipt(endpoint, receipt, one.asked)
        except Exception as error:  # noqa: BLE001 - a defect of ours, which no sender repeats
            self._observe(IntakeDefect(endpoint.name, error))
            return of_receipt(endpoint, receipt)

    def _follow(
        self,
        group: Sequence[Admitted],
        receipts: Sequence[Accepted | Duplicate | Exception],
        took: float,
    ) -> None:
        works = list[Work]()
        for one, receipt in zip(group, receipts, strict=True):
            endpoint = one.arrival.endpoint
            if isinstance(receipt, Exception):
                self._release(one.plan.jobs, unsure=True)
                if isinstance(receipt, RouterError):
                    self._observe(CommitFailed(endpoint.name, receipt, one.accepted.delivery))
                else:
                    self._observe(IntakeDefect(endpoint.name, receipt))
                continue
            if isinstance(receipt, Duplicate):
                self._release(one.plan.jobs)
            else:
                self._begun(one, receipt.new, works)
            self._observe(
                DeliveryStored(endpoint, one.accepted, one.plan, receipt, one.verdict.secret, took)
            )
        if works:
            self._dispatch.hand_over(works)

    async def _revive(self, delivery: str) -> None:
        """A redelivery of work that died opens it again; nothing is routed again."""
        chosen = Selector(ids=(delivery,), state="dead", limit=JOBS_MAX)
        try:
            if await self._store.revive(chosen, now=self._clock.ledger()):
                for target, due_at in (await self._store.reads.targets()).items():
                    self._dispatch.wake(target, due_at)
        except StoreUnavailable as error:
            self._observe(ReviveFailed(delivery, error))

    def _begun(self, one: Admitted, new: frozenset[int] | None, works: list[Work]) -> None:
        """Gather the leased jobs, name the others' targets; drop those of known events."""
        delivery, plan = one.accepted.delivery, one.plan
        for planned in plan.jobs:
            job = planned if new is None else narrowed(planned, one.accepted.events, new)
            if job is None:
                if planned.lease:
                    self._dispatch.release(planned.lease)
            elif job.lease:
                begun, index = committed(job, delivery, delivery.received_at), job.event_index
                works.append(Work(begun, delivery, plan.events[index], plan.scopes[index]))
            elif job.state == "available":
                fresh = delivery.endpoint, job.id
                self._dispatch.wake(job.target, job.due_at, job.kind, fresh)

    def _release(self, jobs: tuple[NewJob, ...], *, unsure: bool = False) -> None:
        for job in jobs:
            if job.lease:
                self._dispatch.release(job.lease, unsure=unsure)


def _without_payloads(plan: Plan) -> Plan:
    """For a large body of which no job begins at once: to free it later would hold up others."""
    if any(job.lease for job in plan.jobs):
        return plan
    events = tuple(msgspec.structs.replace(e, payload=None, raw=None) for e in plan.events)
    return msgspec.structs.replace(plan, events=events, scopes=())
