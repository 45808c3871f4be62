"""What an operator asked for, and who that was."""

import re
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from router.errors import UsageError
from router.model.delivery import DeliveryState
from router.store.values import Selector

RATE = 10.0
"""Jobs a second that a replay gives to one target, unless told otherwise."""
RATE_MAX = 10_000.0

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DELIVERY_STATES = frozenset(get_args(DeliveryState))


class By(msgspec.Struct, frozen=True):
    """Who asked: how they proved themselves, and from which address."""

    who: str
    peer: str | None = None


LOCAL = By("local")
ANYONE = By("anyone")


class ReplayRequest(msgspec.Struct, frozen=True):
    """
    A replay as it was asked for: `ids` or a `selector`.

    `recorded` repeats the jobs that deliveries had. `rate` is jobs a second to one target, None:
    all at once. `name` is the replay's id; the same name again makes nothing twice. `again` is
    also of what has been replayed already.
    """

    ids: tuple[str, ...] = ()
    selector: Selector | None = None
    recorded: bool = False
    rate: float | None = RATE
    name: str | None = None
    again: bool = False

    def check(self) -> None:
        """Raises UsageError: it cannot be meant."""
        if not self.ids and self.selector is None:
            raise UsageError("name a delivery or job, or select some (--rule, --state, --since …)")
        if self.ids and self.selector is not None:
            raise UsageError("name ids or select some, not both")
        if self.rate is not None and not 0 < self.rate <= RATE_MAX:
            raise UsageError(f"the rate is over 0 and at most {RATE_MAX:g} jobs a second")
        if self.name is not None and not _NAME.fullmatch(self.name):
            raise UsageError(
                f"a replay's name has up to 64 letters, digits, . _ or -, not {self.name!r}"
            )

    def as_json(self) -> dict[str, Any]:
        """For the ledger: what was said, no more."""
        told: dict[str, Any] = {"recorded": self.recorded, "rate": self.rate}
        if self.again:
            told["again"] = True
        if self.ids:
            told["ids"] = list(self.ids)
        if self.selector is not None:
            told["selector"] = said(self.selector)
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "ReplayRequest":
        """What `as_json` gave."""
        return msgspec.convert(told, cls)

    def is_same(self, other: "ReplayRequest") -> bool:
        """
        Whether both ask for the same. Times and the rate do not count: `--since 2h` is another
        moment whenever it is said.
        """
        return _timeless(self) == _timeless(other)


def said(selector: Selector) -> dict[str, Any]:
    """What a selector says, as JSON."""
    named = msgspec.structs.asdict(selector)
    return {name: value for name, value in named.items() if value not in (None, ())}


def of_jobs(selector: Selector) -> bool:
    """Whether it selects jobs to be made again alone; else deliveries, to be routed anew."""
    if selector.rule or selector.replay or selector.cause:
        return True
    return selector.state is not None and selector.state not in _DELIVERY_STATES


def _timeless(asked: ReplayRequest) -> tuple[Any, ...]:
    selector = asked.selector
    if selector is not None:
        selector = msgspec.structs.replace(selector, since=None, until=None)
    return asked.ids, selector, asked.recorded, asked.again
