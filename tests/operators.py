"""An operator's questions and verbs on a store, as a process without a server has them."""

import random
from collections.abc import Callable, Iterable
from typing import Any

from router.clock import Clock
from router.dispatch.breakers import Breakers
from router.model.ids import Ids
from router.model.settings import TargetLimits
from router.model.target import TargetNow
from router.operator.questions import StoreQuestions
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef
from router.store.values import Claimed, alone


def breakers_of(clock: Clock) -> Breakers:
    """No target has ever failed."""
    return Breakers(lambda _target, _kind: TargetLimits(16), clock, random.Random(1))


def verbs_of(
    store: Any,
    live: LiveRef,
    clock: Clock,
    *,
    ids: Ids | None = None,
    wake: Callable[[str, int], None] = lambda _target, _due_at: None,
    breakers: Breakers | None = None,
    claimed: Claimed = alone,
) -> StoreVerbs:
    """`store` may be less reliable than a real one."""
    return StoreVerbs(
        store=store,
        live=live,
        clock=clock,
        ids=ids or Ids(random.Random(2)),
        wake=wake,
        breakers=breakers or breakers_of(clock),
        claimed=claimed,
    )


def questions_of(
    store: Any,
    live: LiveRef,
    clock: Clock,
    *,
    targets_now: Callable[[], Iterable[TargetNow]] = tuple,
) -> StoreQuestions:
    """No generation but the live one compiles any more."""

    async def written() -> None:
        pass

    return StoreQuestions(
        store,
        live,
        clock=clock,
        targets_now=targets_now,
        rebuild=lambda _kept: None,
        write_counts=written,
    )
