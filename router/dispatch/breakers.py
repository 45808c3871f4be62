"""All circuit breakers: which targets are not healthy, and what is remembered of them."""

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from router.clock import Clock
from router.dispatch.breaker import Breaker
from router.dispatch.slots import Limits
from router.kinds import ADDRESSED, KINDS
from router.model.job import ActionKind, Done, FailOutcome, Job, Outcome, RetryOutcome, Skip
from router.model.observed import unobserved
from router.model.settings import TargetLimits
from router.model.target import (
    BY_ROUTER,
    FACT,
    PAUSED,
    TargetChange,
    TargetMemory,
    TargetNow,
    paused_targets,
)
from router.store.protocol import TargetStore
from router.store.reads import FactReads


class Breakers:
    """
    A breaker for each target that has been called; `unhealthy` are those of targets that are not
    healthy, so that the others cost one look into a small dict. `changed` is called with each
    change of a state. `turn` is held by whoever changes what the store knows of pauses, or learns
    it: between the two a breaker differs from the store.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Clock,
        rng: random.Random,
        changed: Callable[[TargetChange], None] = unobserved,
    ) -> None:
        self._limits, self._clock, self._rng, self._changed = limits, clock, rng, changed
        self._all: dict[str, Breaker] = {}
        self.unhealthy: dict[str, Breaker] = {}
        self.turn = asyncio.Lock()

    def limits(self, target: str, kind: ActionKind) -> TargetLimits:
        """A target's limits, narrowed by its breaker."""
        limits = self._limits(target, kind)
        breaker = self.unhealthy.get(target)
        return limits if breaker is None else breaker.narrowed(limits)

    def of(self, target: str) -> Breaker:
        """A target's breaker, made if it has none."""
        breaker = self._all.get(target)
        if breaker is None:
            breaker = self._all[target] = Breaker(target, self._clock.ledger())
        return breaker

    def known(self) -> tuple[Breaker, ...]:
        """Every breaker."""
        return tuple(self._all.values())

    # -- results of calls ------------------------------------------------------------------------

    def ended(self, job: Job, outcome: Outcome | Skip | None) -> TargetChange | None:
        """A job's attempt is over; None: broken off by ourselves."""
        breaker, fault, now = self.of(job.target), _fault(job.kind, outcome), self._clock.ledger()
        change = None
        if fault is None:
            if _answer(job.kind, outcome):
                change = breaker.answered(job.id, now)
        elif self._limits(job.target, job.kind).breaker:
            connecting = isinstance(fault, RetryOutcome) and fault.failure == "network"
            change = breaker.failed(job.id, now, fault.reason, connecting=connecting, rng=self._rng)
        else:
            breaker.health.failed(now, fault.reason, connecting=False)
        breaker.landed(job.id)
        return self._note(breaker, change)

    def retry_at(self, job: Job, outcome: RetryOutcome, due_at: int, now: int) -> int:
        """When a job that by its policy is due at `due_at` is tried again, if not then."""
        fault = _fault(job.kind, outcome)
        if fault is None or not self._limits(job.target, job.kind).breaker:
            return due_at
        breaker = self.of(job.target)
        return breaker.retries.turn(due_at, now, breaker.health)

    def begun(self, job: Job) -> None:
        """A job of an unhealthy target starts: it is the probe, if one is wanted."""
        breaker = self.unhealthy.get(job.target)
        if breaker is not None:
            breaker.begun(job.id)

    def drained(self, target: str) -> None:
        """Nothing that is due waits for this target."""
        breaker = self.unhealthy.get(target)
        if breaker is not None:
            self._note(breaker, breaker.drained(self._clock.ledger()))

    def tick(self, target: str, now: int) -> Breaker | None:
        """The breaker of an unhealthy target, as it is by now."""
        breaker = self.unhealthy.get(target)
        if breaker is not None:
            self._note(breaker, breaker.tick(now))
        return breaker

    # -- by hand ---------------------------------------------------------------------------------

    def pause(self, target: str, reason: str, by: str) -> TargetChange | None:
        """Call a target no more; None: it is paused already."""
        return self._note(self.of(target), self.of(target).pause(self._clock.ledger(), reason, by))

    def resume(self, target: str, reason: str, by: str) -> TargetChange | None:
        """Call it again; None: nothing kept it from being called."""
        return self._note(self.of(target), self.of(target).resume(self._clock.ledger(), reason, by))

    def paused(self) -> frozenset[str]:
        """The paused ones."""
        return frozenset(name for name, one in self.unhealthy.items() if one.state == "paused")

    def _note(self, breaker: Breaker, change: TargetChange | None) -> TargetChange | None:
        if breaker.healthy:
            self.unhealthy.pop(breaker.target, None)
        else:
            self.unhealthy[breaker.target] = breaker
        if change is not None:
            change = msgspec.structs.replace(change, at=change.at + self._clock.offset)
            self._changed(change)
        return change

    # -- what the store knows --------------------------------------------------------------------

    async def restore(self, store: FactReads) -> None:
        """
        What was remembered, before anything starts; what a disk has damaged of it is not. Raises
        StoreUnavailable.
        """
        now, memories = self._clock.ledger(), dict[str, TargetMemory]()
        for name, value in (await store.recall(FACT)).items():
            with suppress(msgspec.ValidationError):  # it is called, and judged anew
                memories[name.removeprefix(FACT)] = TargetMemory.read(value)
        pauses = paused_targets(await store.recall(PAUSED))
        for target in {**memories, **pauses}:
            breaker = Breaker(target, now, memories.get(target), pauses.get(target))
            self._all[target] = breaker
            self._note(breaker, None)

    async def save(self, store: TargetStore) -> None:
        """Have what is new written down; if that fails it stays new."""
        async with self.turn:
            for target in [name for name in self.paused() if not self.of(name).pause_kept]:
                await self.keep_pause(store, target)
            now = self._clock.ledger()
            found = ((name, breaker.unkept(now)) for name, breaker in self._all.items())
            memories = {name: memory for name, memory in found if memory is not None}
            if memories:
                await store.remember(facts(memories))
            for name, memory in memories.items():
                self.of(name).keep(memory, now)

    async def keep_pause(self, store: TargetStore, target: str) -> int:
        """Have it written down that a target is paused; returns how many of its jobs wait then."""
        one = self.of(target)
        held = await store.pause_target(target, reason=one.reason, by=one.by, at=one.since)
        one.pause_kept = True
        return held

    async def agree(self, store: FactReads) -> None:
        """Pause and resume what other nodes have paused and resumed. Raises StoreUnavailable."""
        async with self.turn:
            pauses = paused_targets(await store.recall(PAUSED))
            for target, pause in pauses.items():
                breaker = self.of(target)
                self._note(breaker, breaker.pause(pause.at, pause.reason, pause.by))
                breaker.pause_kept = True
            for target in self.paused() - pauses.keys():
                if self.of(target).pause_kept:
                    self.resume(target, "resumed elsewhere", BY_ROUTER)


def facts(memories: Mapping[str, TargetMemory]) -> dict[str, Any]:
    """As the store takes them; None for what need not be remembered."""
    return {
        FACT + name: None if memory == TargetMemory() else msgspec.to_builtins(memory)
        for name, memory in memories.items()
    }


def _fault(kind: ActionKind, outcome: Outcome | Skip | None) -> RetryOutcome | FailOutcome | None:
    """A failure of the target. Any other answer, a 404 too, shows that it is there."""
    faults = KINDS[kind].faults
    if faults is None:
        return outcome if isinstance(outcome, RetryOutcome | FailOutcome) else None
    return outcome if isinstance(outcome, RetryOutcome) and outcome.failure in faults else None


def _answer(kind: ActionKind, outcome: Outcome | Skip | None) -> bool:
    match outcome:
        case Done() | RetryOutcome(failure="client"):
            return True
        case FailOutcome(result=result):
            return KINDS[kind].result.code in result
    return False


def target_statuses(
    breakers: Breakers,
    limits: Limits,
    clock: Clock,
    *,
    kind_of: Callable[[str], ActionKind] = lambda _target: ADDRESSED,
    in_use: Callable[[str, ActionKind], int] = lambda _target, _kind: 0,
) -> tuple[TargetNow, ...]:
    """Every target that has been called or is not healthy, as it is now."""

    def status(breaker: Breaker) -> TargetNow:
        target, health = breaker.target, breaker.health
        kind = kind_of(target)
        own = limits(target, kind)
        answered, failed = health.window(clock.ledger())
        attempts = answered + failed
        return TargetNow(
            target=target,
            state=breaker.state,
            since=_shown(breaker.since, clock),
            reason=breaker.reason,
            by=breaker.by,
            next_probe=_shown(breaker.next_probe, clock) if breaker.state == "failing" else None,
            in_use=in_use(target, kind),
            concurrency=own.concurrency,
            rate=own.rate,
            pace=breaker.pace(own.rate),
            attempts=attempts,
            success=answered / attempts if attempts else None,
            last_error=health.last_error,
            last_error_at=_shown(health.last_error_at, clock),
            deferred=breaker.deferred,
            failed_since=None if own.breaker or answered else _shown(health.failing_since, clock),
        )

    return tuple(map(status, breakers.known()))


def _shown(at: int | None, clock: Clock) -> int | None:
    """Ledger time as people see it; a target that was never called has none."""
    return at + clock.offset if at else None
