"""What operators do with targets: look, pause, resume; the same with and without a server."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from router.clock import Clock
from router.dispatch.breakers import Breakers, facts
from router.errors import UsageError
from router.model.target import FACT, TargetNow, TargetRow
from router.operator import LOCAL, By, Operator
from router.rules.live import LiveRef
from router.rules.target_rows import known_targets, target_rows
from router.store.protocol import Store
from router.suggest import did_you_mean

REASON_MAX = 200


class TargetDesk:
    """
    Pauses and resumes targets: at their breakers, and in the store.

    `now` are the targets as dispatch sees them, `woken` is told a target whose jobs may start.
    """

    def __init__(
        self,
        *,
        breakers: Breakers,
        store: Store,
        live: LiveRef,
        operator: Operator,
        clock: Clock,
        now: Callable[[], Iterable[TargetNow]],
        woken: Callable[[str, int], None],
    ) -> None:
        self._breakers = breakers
        self._store = store
        self._live = live
        self._operator = operator
        self._clock = clock
        self._now = now
        self._woken = woken

    async def rows(self) -> tuple[TargetRow, ...]:
        """Every target, as it stands."""
        return target_rows(self._live.current, self._now(), await self._store.reads.target_counts())

    async def pause(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """
        Call a target no more until it is resumed; its jobs wait, and that is remembered.

        Raises:
            UsageError: there is no such target.
        """
        target, reason = await self._asked(body)
        change = self._breakers.pause(target, reason or "paused by hand", by.who)
        await self._keep(target)
        held = await self._hold(self._breakers.paused())
        if change is not None:
            await self._operator.note("pause_target", _told(target, reason), by, held)
        return {"target": target, "state": "paused", "changed": change is not None, "jobs": held}

    async def resume(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """
        Call a paused or failing target again, gently at first.

        Raises:
            UsageError: there is no such target.
        """
        target, reason = await self._asked(body)
        # Its jobs first: the breaker takes an empty queue for the end of the recovery.
        freed = await self._hold(self._breakers.paused() - {target})
        change = self._breakers.resume(target, reason or "resumed by hand", by.who)
        await self._keep(target)
        if change is not None:
            await self._operator.note("resume_target", _told(target, reason), by, freed)
        self._woken(target, self._clock.now())
        return {
            "target": target,
            "state": self._breakers.of(target).state,
            "changed": change is not None,
            "jobs": freed,
        }

    async def _hold(self, paused: frozenset[str]) -> int:
        return await self._store.hold(self._live.current.paused, paused, now=self._clock.now())

    async def _keep(self, target: str) -> None:
        memory = {target: self._breakers.of(target).memory()}
        await self._store.remember(facts(memory))
        self._breakers.kept(memory)

    async def _asked(self, body: Mapping[str, Any]) -> tuple[str, str]:
        target, reason = body.get("target"), body.get("reason") or ""
        if not isinstance(target, str) or not isinstance(reason, str) or len(reason) > REASON_MAX:
            raise UsageError(f"give a target, and a reason of at most {REASON_MAX} characters")
        known = {
            *known_targets(self._live.current),
            *(one.target for one in self._breakers.known()),
        }
        if target not in known and target not in await self._store.reads.target_counts():
            hint = did_you_mean(target, sorted(known))
            raise UsageError(
                f"there is no target {target!r}; {hint or '`router targets` lists them'}"
            )
        return target, reason


def _told(target: str, reason: str) -> dict[str, Any]:
    return {"target": target, "reason": reason} if reason else {"target": target}


async def remembered(breakers: Breakers, store: Store) -> Breakers:
    """The breakers as the last server left them."""
    breakers.restore(await store.recall(FACT))
    return breakers
