"""Two rulesets compared, whole: what they say, and what that did to which deliveries."""

from typing import Any

import msgspec
from msgspec.structs import asdict

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
        "rules": [asdict(rule) | _changed(rule) for rule in found.rules],
        "settings": [asdict(change) for change in found.settings],
        "deliveries": found.deliveries,
        "events": found.events,
        "skipped": [asdict(one) for one in found.skipped],
        "effects": [
            asdict(effect) | {"calls": [asdict(call) | _changed(call) for call in effect.calls]}
            for effect in found.effects
        ],
    }


def _changed(found: RuleChange | CallChange) -> dict[str, Any]:
    return {"changes": [asdict(change) for change in found.changes]}
