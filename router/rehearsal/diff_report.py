"""Two rulesets compared, whole: what they say, and what that did to which deliveries."""

from collections.abc import Iterable
from typing import Any

import msgspec

from router.rehearsal.diff import CallChange, Effect, RuleChange
from router.rehearsal.plain import Change


class Skipped(msgspec.Struct, frozen=True):
    """A delivery that no rule is evaluated for, and its state, which says why."""

    delivery: str
    state: str


class Difference(msgspec.Struct, frozen=True):
    """`deliveries` and `events` are how many were held against both; `old` and `new` name them."""

    old: str
    new: str
    rules: tuple[RuleChange, ...] = ()
    settings: tuple[Change, ...] = ()
    effects: tuple[Effect, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    deliveries: int = 0
    events: int = 0

    @property
    def differs(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.rules or self.settings or self.effects)


def difference_json(found: Difference) -> dict[str, Any]:
    """For `encode_json`."""
    return {
        "old": found.old,
        "new": found.new,
        "differs": found.differs,
        "rules": [
            {"rule": r.rule, "kind": r.kind, "changes": _changes(r.changes)} for r in found.rules
        ],
        "settings": _changes(found.settings),
        "deliveries": found.deliveries,
        "events": found.events,
        "skipped": [msgspec.structs.asdict(one) for one in found.skipped],
        "effects": [_effect(effect) for effect in found.effects],
    }


def _changes(found: Iterable[Change]) -> list[dict[str, Any]]:
    return [msgspec.structs.asdict(change) for change in found]


def _effect(effect: Effect) -> dict[str, Any]:
    told = msgspec.structs.asdict(effect)
    return {**told, "calls": [_call(call) for call in effect.calls]}


def _call(call: CallChange) -> dict[str, Any]:
    return {"action": call.action, "kind": call.kind, "changes": _changes(call.changes)}
