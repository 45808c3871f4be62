"""All gates: which targets are not in order, what attempts tell of them, what is remembered."""

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from router.clock import Clock
from router.dispatch.breaker import Gate
from router.dispatch.slots import Limits
from router.kinds import KINDS
from router.model.job import ActionKind, Done, FailOutcome, Job, Outcome, RetryOutcome, Skip
from router.model.settings import TargetLimits
from router.model.target import FACT, TargetChange, TargetMemory


class Gates:
    """
    A gate for each target that has been called; `special` are those not in order, so that the
    others cost one look into a small dict.
    """

    def __init__(self, limits: Limits, clock: Clock, rng: random.Random) -> None:
        self._limits = limits
        self._clock = clock
        self._rng = rng
        self._all: dict[str, Gate] = {}
        self.special: dict[str, Gate] = {}
        self.changed: Callable[[TargetChange], None] = lambda _change: None

    def limits(self, target: str, kind: ActionKind) -> TargetLimits:
        """A target's limits, narrowed by its gate."""
        limits = self._limits(target, kind)
        gate = self.special.get(target)
        return limits if gate is None else gate.narrowed(limits)

    def of(self, target: str) -> Gate:
        """A target's gate, made if it has none."""
        gate = self._all.get(target)
        if gate is None:
            gate = self._all[target] = Gate(target, self._clock.now())
        return gate

    def known(self) -> tuple[Gate, ...]:
        """Every gate."""
        return tuple(self._all.values())

    # -- what attempts tell ----------------------------------------------------------------------

    def heard(self, job: Job, outcome: Outcome | Skip | None) -> TargetChange | None:
        """A job's attempt is over; None: broken off by ourselves."""
        gate, fault = self.of(job.target), _fault(job.kind, outcome)
        change = None
        if fault is not None:
            if self._limits(job.target, job.kind).breaker:
                change = gate.failed(
                    job.id,
                    self._clock.now(),
                    fault.reason,
                    connecting=isinstance(fault, RetryOutcome) and fault.failure == "network",
                    rng=self._rng,
                )
            else:
                gate.health.failed(self._clock.now(), fault.reason, connecting=False)
        elif _answer(job.kind, outcome):
            change = gate.answered(job.id, self._clock.now())
        gate.landed(job.id)
        self._note(gate, change)
        return change

    def begun(self, job: Job) -> None:
        """A job of a special target starts: it is the probe, if one is wanted."""
        gate = self.special.get(job.target)
        if gate is not None and gate.state == "half-open" and gate.probe is None:
            gate.probe = job.id

    def drained(self, target: str) -> None:
        """Nothing that is due waits for this target."""
        gate = self.special.get(target)
        if gate is not None:
            gate.drained()
            self._note(gate, None)

    def tick(self, target: str, now: int) -> Gate | None:
        """The gate of a special target, as it is by now."""
        gate = self.special.get(target)
        if gate is not None:
            self._note(gate, gate.tick(now))
        return gate

    # -- what people say -------------------------------------------------------------------------

    def pause(self, target: str, reason: str, by: str) -> TargetChange | None:
        """Call a target no more; None: it is paused already."""
        return self._note(self.of(target), self.of(target).pause(self._clock.now(), reason, by))

    def resume(self, target: str, reason: str, by: str) -> TargetChange | None:
        """Call it again; None: nothing kept it from being called."""
        return self._note(self.of(target), self.of(target).resume(self._clock.now(), reason, by))

    def paused(self) -> frozenset[str]:
        """The paused ones."""
        return frozenset(name for name, gate in self.special.items() if gate.state == "paused")

    def _note(self, gate: Gate, change: TargetChange | None) -> TargetChange | None:
        if gate.plain:
            self.special.pop(gate.target, None)
        else:
            self.special[gate.target] = gate
        if change is not None:
            self.changed(change)
        return change

    def shift(self, ms: int) -> None:
        """Every time is so much later: somebody set the clock."""
        for gate in self._all.values():
            gate.shift(ms)

    # -- over a restart --------------------------------------------------------------------------

    def restore(self, facts: Mapping[str, Any]) -> None:
        """What was remembered, before anything starts; what a disk has spoilt of it is not."""
        for name, value in facts.items():
            target = name.removeprefix(FACT)
            try:
                memory = msgspec.convert(value, TargetMemory)
            except msgspec.ValidationError:
                continue  # it is called, and judged anew
            gate = self._all[target] = Gate(target, self._clock.now(), memory)
            self._note(gate, None)

    async def save(self, remember: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        """Have what is news written down; if that fails it stays news."""
        now = self._clock.now()
        found = ((name, gate.unkept(now)) for name, gate in self._all.items())
        memories = {name: memory for name, memory in found if memory is not None}
        if memories:
            await remember(facts(memories))
            self.kept(memories)

    def kept(self, memories: Mapping[str, TargetMemory]) -> None:
        """These have been remembered."""
        now = self._clock.now()
        for name, memory in memories.items():
            self.of(name).keep(memory, now)


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
        case Done():
            return True
        case RetryOutcome(failure="client"):
            return True
        case FailOutcome(result=result):
            return KINDS[kind].result.code in result
    return False
