"""Numbers between two ends: what comparisons by order leave of them."""

from decimal import Decimal
from typing import Any, Final

import msgspec

Number = int | Decimal


class Interval(msgspec.Struct, frozen=True):
    """
    The numbers from `low` to `high`; None is no end. `above`: more than `low`, `below`: less than
    `high`.
    """

    low: Number | None = None
    high: Number | None = None
    above: bool = False
    below: bool = False

    def holds(self, number: Number) -> bool:
        """Whether the number lies in it."""
        if self.low is not None and (number < self.low or (self.above and number == self.low)):
            return False
        return self.high is None or number < self.high or (number == self.high and not self.below)

    @property
    def empty(self) -> bool:
        """Whether no number lies in it."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.above or self.below))

    def met(self, other: "Interval") -> "Interval":
        """The numbers in both."""
        low, above = max(self.bottom, other.bottom)[1:]
        high, closed = min(self.top, other.top)[1:]
        return Interval(low, high, above, not closed)

    def hull(self, other: "Interval") -> "Interval":
        """The least one that holds both."""
        low, above = min(self.bottom, other.bottom)[1:]
        high, closed = max(self.top, other.top)[1:]
        return Interval(low, high, above, not closed)

    @property
    def bottom(self) -> tuple[int, Any, bool]:
        """Ordered as ends are; the last one is whether the end itself is outside."""
        return (0, None, False) if self.low is None else (1, self.low, self.above)

    @property
    def top(self) -> tuple[int, Any, bool]:
        """Ordered as ends are; the last one is whether the end itself is inside."""
        return (1, None, True) if self.high is None else (0, self.high, not self.below)

    def __str__(self) -> str:
        """In words: `more than 5 and at most 9`."""
        low = f"{'more than' if self.above else 'at least'} {self.low}"
        high = f"{'less than' if self.below else 'at most'} {self.high}"
        if self.low is None or self.high is None:
            return high if self.low is None else low
        return str(self.low) if self.low == self.high else f"{low} and {high}"


ALL_NUMBERS: Final = Interval()

OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def at(number: Number) -> Interval:
    """Only this number."""
    return Interval(number, number)


def beside(sign: str, other: Interval) -> Interval:
    """The numbers that are `sign` (`<`, `>=`, …) some number of the other."""
    strict = len(sign) == 1
    if sign[0] == ">":
        return Interval(low=other.low, above=other.low is not None and (strict or other.above))
    return Interval(high=other.high, below=other.high is not None and (strict or other.below))


def may_be(sign: str, a: Interval, b: Interval) -> bool:
    """Whether some number of the one is `sign` some number of the other."""
    return not a.met(beside(sign, b)).empty
