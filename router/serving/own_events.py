"""What the router has to say of itself, made durable like a delivery and routed like one."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from router.clock import Clock
from router.dispatch.alarm import Alarm
from router.errors import StoreUnavailable
from router.intake import acceptance, count_matches
from router.log import Log
from router.metrics import Metrics
from router.model.delivery import Delivery
from router.model.ids import Ids
from router.model.job import Attempt, Job
from router.model.settings import OWN
from router.rules import own_events
from router.rules.live import LiveRef, LiveRuleset
from router.rules.plan import Plan
from router.store.protocol import Store
from router.store.values import Acceptance, Accepted, Duplicate

STEP_S = 10.0
"""How often conditions are looked at."""
AGAIN_S = 1.0
"""How soon a store that could not answer is asked again."""
WAITING_MAX = 1_000


class Watch(Protocol):
    """Looks at one condition, and tells of it when it begins. May raise StoreUnavailable."""

    async def step(self) -> None: ...


Committed = Callable[[Delivery, Plan, Accepted], None]


class _Said(msgspec.Struct, frozen=True):
    event: str
    identity: str
    payload: Mapping[str, Any]


class OwnEvents:
    """
    Plans our own events by the rules in force.

    Nothing is stored, and next to nothing done, as long as no rule `from: router` lets an event
    in. `hide` masks secrets in texts; `wake` is told the target of each job made.
    """

    def __init__(
        self,
        *,
        live: LiveRef,
        store: Store,
        wake: Callable[[str, int], None],
        hide: own_events.Hide,
        ids: Ids,
        clock: Clock,
        metrics: Metrics,
        log: Log,
    ) -> None:
        self._live = live
        self._store = store
        self._wake = wake
        self.hide = hide
        self._ids = ids
        self._clock = clock
        self._metrics = metrics
        self._log = log
        self._waiting: deque[_Said] = deque(maxlen=WAITING_MAX)
        self._alarm = Alarm(clock)
        self._news = False
        self.watches: Sequence[Watch] = ()
        self._committed: Committed | None = None
        self._dying: dict[str, tuple[Delivery, Plan]] = {}  # by the job whose end they tell

    def died(self, job: Job, attempt: Attempt) -> Acceptance | None:
        """`job.dead`, to be committed together with the job's end."""
        live = self._live.current
        planned = own_events.death(live, self._ids, job, attempt, self.hide)
        if planned is not None and self._committed is not None and len(self._dying) < WAITING_MAX:
            self._dying[job.id] = planned
        return self._acceptance(live, planned)

    def ended(self, job: str) -> None:
        """The end of a job, by its id, is written, and what `died` said of it."""
        planned = self._dying.pop(job, None)
        if planned is not None and self._committed is not None:
            self._committed(*planned, Accepted(planned[0].id))

    def watched(self, committed: Committed | None) -> None:
        """Tell `committed` of each one that is stored; None: nobody watches any more."""
        self._committed = committed
        self._dying.clear()

    def soon(self, event: str, identity: str, payload: Mapping[str, Any]) -> None:
        """Tell it as soon as the store takes it; of too many that wait the oldest are dropped."""
        if own_events.wants(self._live.current, event):
            self._waiting.append(_Said(event, identity, payload))
            self._alarm.ring()

    async def tell(self, event: str, identity: str, payload: Mapping[str, Any]) -> bool:
        """
        Make it durable, once for each identity; False: no rule wants it.

        Raises:
            StoreUnavailable: perhaps it was stored; tell it again.
        """
        live, now = self._live.current, self._clock.now()
        planned = own_events.planned(live, self._ids, event, identity, payload, now)
        own = self._acceptance(live, planned)
        if own is None or planned is None:
            return False
        receipt = await self._store.accept(own)
        if not isinstance(receipt, Duplicate):
            if self._committed is not None:
                self._committed(*planned, receipt)
            for reason in receipt.cancelled:
                self._metrics.cancelled(reason)
            for job in own.jobs:
                self._wake(job.target, job.due_at)
        return True

    async def run(self) -> None:
        """Tell what waits at once, and look at every condition now and then."""
        looked = self._clock.monotonic()
        while True:
            pause = STEP_S if await self.flush() else AGAIN_S
            await self._alarm.wait(pause)
            if self._news or self._clock.monotonic() - looked >= STEP_S:
                self._news, looked = False, self._clock.monotonic()
                await self.look()

    def look_soon(self) -> None:
        """Something has changed: look at the conditions without waiting for the next turn."""
        self._news = True
        self._alarm.ring()

    async def look(self) -> None:
        """Look at every condition once; one that cannot be seen now hides no other."""
        for watch in self.watches:
            try:
                await watch.step()
            except StoreUnavailable as error:
                self._log.error("own events could not look", error=str(error))

    async def flush(self) -> bool:
        """Tell what waits; False: the store does not answer, and some of it waits on."""
        while self._waiting:
            said = self._waiting[0]
            try:
                await self.tell(said.event, said.identity, said.payload)
            except StoreUnavailable as error:
                self._log.error("own event waits", event_name=said.event, error=str(error))
                return False
            if self._waiting and self._waiting[0] is said:
                self._waiting.popleft()
        return True

    def _acceptance(
        self, live: LiveRuleset, planned: tuple[Delivery, Plan] | None
    ) -> Acceptance | None:
        if planned is None or live.own is None:
            return None
        delivery, plan = planned
        self._metrics.delivered(OWN, delivery.state)
        count_matches(self._metrics, self._log, delivery, plan)
        for rule in plan.ungrouped:
            self._metrics.ungrouped(rule)
        self._log.info(
            "own event", delivery=delivery.id, events=[e.name for e in plan.events],
            rules=list(dict.fromkeys(job.rule for job in plan.jobs)),
        )  # fmt: skip
        return acceptance(delivery, plan, live.own)
