"""How targets stand, as values for whoever shows them."""

from collections.abc import Callable

from router.dispatch.breaker import Gate
from router.dispatch.breakers import Gates
from router.dispatch.slots import Limits
from router.kinds import ADDRESSED
from router.model.job import ActionKind
from router.model.target import TargetNow


def standings(
    gates: Gates,
    limits: Limits,
    now: int,
    *,
    kind_of: Callable[[str], ActionKind] = lambda _target: ADDRESSED,
    in_use: Callable[[str, ActionKind], int] = lambda _target, _kind: 0,
) -> tuple[TargetNow, ...]:
    """Every target that has been called or is not in order, as it is now."""
    found = []
    for gate in gates.known():
        kind = kind_of(gate.target)
        found.append(_standing(gate, kind, limits, now, in_use(gate.target, kind)))
    return tuple(found)


def _standing(gate: Gate, kind: ActionKind, limits: Limits, now: int, in_use: int) -> TargetNow:
    own = limits(gate.target, kind)
    answered, failed = gate.health.window(now)
    attempts = answered + failed
    return TargetNow(
        target=gate.target,
        state=gate.state,
        since=gate.since or None,
        reason=gate.reason,
        by=gate.by,
        next_probe=gate.next_probe if gate.state == "open" else None,
        recovering=gate.recovering,
        in_use=in_use,
        concurrency=own.concurrency,
        rate=own.rate,
        pace=gate.pace(own.rate),
        attempts=attempts,
        success=answered / attempts if attempts else None,
        last_error=gate.health.last_error,
        last_error_at=gate.health.last_error_at,
        deferred=gate.deferred,
    )
