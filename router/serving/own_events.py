"""The router's own events: made durable like a delivery and routed like one."""

import hashlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from router.clock import Clock
from router.dispatch.alarm import Alarm
from router.errors import StoreUnavailable
from router.intake import acceptance
from router.log import Log
from router.model.delivery import Delivery
from router.model.ids import Ids
from router.model.job import Attempt, Job
from router.model.observed import Observed, Observer
from router.operator.answers import ReloadState
from router.rules import own_events
from router.rules.live import LiveRef
from router.rules.plan import Plan
from router.store.protocol import IntakeStore
from router.store.values import Acceptance, Accepted, Duplicate

STEP_S = 10.0
"""How often conditions are looked at."""
AGAIN_S = 1.0
"""How soon a store that could not answer is called again."""
WAITING_MAX = 1_000


ConditionWatch = Callable[[], Awaitable[None]]
"""Looks at one condition, and stores an event when it begins. May raise StoreUnavailable."""


class OwnEventPlanned(Observed, frozen=True):
    """An event of the router's own is about to be stored, with the jobs of its rules."""

    delivery: Delivery
    plan: Plan


class OwnEventStored(Observed, frozen=True):
    """An event of the router's own is stored by itself; of a job's death see `AttemptEnded`."""

    accepted: Acceptance
    receipt: Accepted


WaitingEvent = tuple[str, str, Mapping[str, Any]]
"""An event to be stored soon: its name, identity and payload."""


class OwnEvents:
    """
    Plans the router's own events by the rules in force, and holds those that wait to be stored.

    Nothing is stored, and next to nothing done, as long as no rule `from: router` lets an event
    in. `hide` masks secrets in texts.
    """

    def __init__(
        self,
        *,
        live: LiveRef,
        hide: own_events.Hide,
        ids: Ids,
        clock: Clock,
        observe: Observer,
    ) -> None:
        self._live, self._hide, self._ids = live, hide, ids
        self._clock, self._observe = clock, observe
        self.waiting: deque[WaitingEvent] = deque(maxlen=WAITING_MAX)
        self._alarm = Alarm(clock)
        self._changed = False

    def died(self, job: Job, attempt: Attempt) -> Acceptance | None:
        """`job.dead`, to be committed together with the job's end."""
        live, now = self._live.current, self._clock.ledger()
        return self._acceptance(own_events.death(live, self._ids, job, attempt, self._hide, now))

    def planned(self, event: str, identity: str, payload: Mapping[str, Any]) -> Acceptance | None:
        """Any other event, to be committed by itself, once for each identity; None: not wanted."""
        live, now, due_at = self._live.current, self._clock.now(), self._clock.ledger()
        found = own_events.planned(live, self._ids, event, identity, payload, now, due_at)
        return self._acceptance(found)

    def soon(self, event: str, identity: str, payload: Mapping[str, Any]) -> None:
        """Store it as soon as the store takes it; of too many that wait the oldest are dropped."""
        if own_events.wants(self._live.current, event):
            self.waiting.append((event, identity, payload))
            self._alarm.ring()

    def reload_failed(self, state: ReloadState) -> None:
        """`reload.failed`, once for each fault since a reload succeeded."""
        text = state.error or ""
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        payload = {
            "generation": self._live.current.ruleset.generation[:12],
            "failures": state.failures,
            "diagnostics": own_events.shown(text, self._hide, own_events.DIAGNOSTICS_MAX),
        }
        self.soon("reload.failed", f"reload.failed/{state.succeeded_at}/{digest}", payload)

    def look_soon(self) -> None:
        """Something has changed: look at the conditions without waiting for the next turn."""
        self._changed = True
        self._alarm.ring()

    async def wait(self, seconds: float) -> bool:
        """Until there is something to do, so long at most; True: look at the conditions at once."""
        await self._alarm.wait(seconds)
        changed, self._changed = self._changed, False
        return changed

    def _acceptance(self, planned: tuple[Delivery, Plan] | None) -> Acceptance | None:
        own = self._live.current.own
        if planned is None or own is None:
            return None
        self._observe(OwnEventPlanned(*planned))
        return acceptance(*planned, own, self._clock.ledger())


class OwnEventWriter:
    """Stores the router's own events. `wake` is called with the target of each job made."""

    def __init__(
        self,
        own: OwnEvents,
        *,
        store: IntakeStore,
        wake: Callable[[str, int], None],
        clock: Clock,
        observe: Observer,
        log: Log,
    ) -> None:
        self._own, self._store, self._wake = own, store, wake
        self._clock, self._observe, self._log = clock, observe, log

    async def send(self, event: str, identity: str, payload: Mapping[str, Any]) -> bool:
        """
        Make it durable, once for each identity; False: no rule wants it.

        Raises:
            StoreUnavailable: perhaps it was stored; send it again.
        """
        own = self._own.planned(event, identity, payload)
        if own is None:
            return False
        receipt = await self._store.accept(own)
        if not isinstance(receipt, Duplicate):
            self._observe(OwnEventStored(own, receipt))
            for job in own.jobs:
                self._wake(job.target, job.due_at)
        return True

    async def run(self, watches: Sequence[ConditionWatch]) -> None:
        """Store what waits at once, and look at every condition now and then."""
        looked = self._clock.monotonic()
        while True:
            changed = await self._own.wait(STEP_S if await self.flush() else AGAIN_S)
            if changed or self._clock.monotonic() - looked >= STEP_S:
                looked = self._clock.monotonic()
                await self.look(watches)

    async def look(self, watches: Sequence[ConditionWatch]) -> None:
        """Look at every condition once; one that cannot be seen now hides no other."""
        for watch in watches:
            try:
                await watch()
            except StoreUnavailable as error:
                self._log.error("own events could not look", error=str(error))

    async def flush(self) -> bool:
        """Store what waits; False: the store does not answer, and some of it waits on."""
        waiting = self._own.waiting
        while waiting:
            first = waiting[0]
            try:
                await self.send(*first)
            except StoreUnavailable as error:
                self._log.error("own event waits", event_name=first[0], error=str(error))
                return False
            if waiting and waiting[0] is first:
                waiting.popleft()
        return True
