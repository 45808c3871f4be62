"""The states of targets, as values for whoever shows them."""

from collections.abc import Callable

from router.dispatch.breakers import Breakers
from router.dispatch.slots import Limits
from router.kinds import ADDRESSED
from router.model.job import ActionKind
from router.model.target import TargetNow


def target_statuses(
    breakers: Breakers,
    limits: Limits,
    now: int,
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
        answered, failed = health.window(now)
        attempts = answered + failed
        status = TargetNow(
            target=target,
            state=breaker.state,
            since=breaker.since or None,
            reason=breaker.reason,
            by=breaker.by,
            next_probe=breaker.next_probe if breaker.state == "failing" else None,
            in_use=in_use(target, kind),
            concurrency=own.concurrency,
            rate=own.rate,
            pace=breaker.pace(own.rate),
            attempts=attempts,
            success=answered / attempts if attempts else None,
            last_error=health.last_error,
            last_error_at=health.last_error_at,
            deferred=breaker.deferred,
        )
        found.append(status)
    return tuple(found)
