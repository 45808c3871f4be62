"""What operators do to targets: pause, resume; the same with and without a server."""

import msgspec

from router.clock import Clock
from router.dispatch.breakers import Breakers
from router.errors import UsageError
from router.operator.answers import TargetChanged
from router.operator.audit import AuditTrail
from router.operator.replay_steps import Wake
from router.operator.requests import LOCAL, By, TargetRequest
from router.rules.live import LiveRef
from router.rules.target_rows import known_targets
from router.store.protocol import OperatorStore
from router.suggest import did_you_mean

REASON_MAX = 200


class TargetVerbs:
    """
    Pauses and resumes targets: at their breakers, and in the store.

    `_wake` is called with a target whose jobs may start.
    """

    audit: AuditTrail
    _breakers: Breakers
    _store: OperatorStore
    _live: LiveRef
    _clock: Clock
    _wake: Wake

    async def pause(self, request: TargetRequest, by: By = LOCAL) -> TargetChanged:
        """Its jobs wait, and that is remembered. Raises UsageError: there is no such target."""
        target, breakers = await self._checked(request), self._breakers
        async with breakers.turn:
            change = breakers.pause(target, request.reason or "paused by hand", by.who)
            held = await breakers.keep_pause(self._store, target)
        await breakers.save(self._store)
        if change is not None:
            await self.audit.note(by, "pause_target", msgspec.to_builtins(request), held)
        return TargetChanged(target, "paused", change is not None, held)

    async def resume(self, request: TargetRequest, by: By = LOCAL) -> TargetChanged:
        """It is called again, gently at first. Raises UsageError: there is no such target."""
        target, breakers = await self._checked(request), self._breakers
        async with breakers.turn:
            # Its jobs first: the breaker takes an empty queue for the end of the recovery.
            freed = await self._store.resume_target(target, now=self._clock.ledger())
            change = breakers.resume(target, request.reason or "resumed by hand", by.who)
        await breakers.save(self._store)
        if change is not None:
            await self.audit.note(by, "resume_target", msgspec.to_builtins(request), freed)
        self._wake(target, self._clock.ledger())
        return TargetChanged(target, breakers.of(target).state, change is not None, freed)

    async def _checked(self, request: TargetRequest) -> str:
        """The target, as it is now. Raises UsageError: there is none; the reason is too long."""
        if len(request.reason) > REASON_MAX:
            raise UsageError(f"a reason has at most {REASON_MAX} characters")
        await self._breakers.agree(self._store)
        known = {
            *known_targets(self._live.current),
            *(one.target for one in self._breakers.known()),
        }
        target = request.target
        if target not in known and target not in await self._store.reads.target_counts():
            hint = did_you_mean(target, sorted(known))
            raise UsageError(
                f"there is no target {target!r}; {hint or '`router targets` lists them'}"
            )
        return target
