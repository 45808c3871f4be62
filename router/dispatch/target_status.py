"""The states of targets, as values for whoever shows them."""

from collections.abc import Callable

from router.clock import Clock
from router.dispatch.breakers import Breakers
from router.dispatch.slots import Limits
from router.kinds import ADDRESSED
from router.model.job import ActionKind
from router.model.target import TargetNow


def target_statuses(
    breakers: Breakers,
    limits: Limits,
    clock: Clock,
    *,
    kind_of: Callable[[str], ActionKind] = lambda _target: ADDRESSED,
    in_use: Callable[[str, ActionKind], int] = lambda _target, _kind: 0,
) -> tuple[TargetNow, ...]:
    """Every target that has been called or is not healthy, as it is now."""
    found = []
    for breaker in breakers.known():
        target, health = breaker.target, breaker.health
        kind = kind_of(target)
        own = limits(target, kind)
        answered, failed = health.window(clock.ledger())
        attempts = answered + failed
        status = TargetNow(
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
        )
        found.append(status)
    return tuple(found)


def _shown(at: int | None, clock: Clock) -> int | None:
    """Ledger time as people see it; a target that was never called has none."""
    return at + clock.offset if at else None
