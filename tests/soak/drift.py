"""Whether something grows that must not: a robust slope, held against a bound. No I/O."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

WARM = 0.25
"""The part of a life in which caches fill: it is not looked at."""
LEAST = 4
"""With fewer samples nothing is said."""

Point = tuple[float, float]
"""Seconds, and what was measured."""


class Bound(NamedTuple):
    """By how much a measure may grow over a life: a share of where it began, and so much more."""

    unit: str
    share: float
    more: float


BOUNDS: Mapping[str, Bound] = {
    "RSS": Bound("MiB", 0.10, 6),
    "descriptors": Bound("", 0.1, 8),
    "threads": Bound("", 0, 2),
    "journal": Bound("MiB", 0.25, 8),
    "store": Bound("MiB", 0.25, 4),
    "open jobs": Bound("", 1.0, 500),
    "p50": Bound("ms", 1.0, 25),
    "p99": Bound("ms", 1.0, 250),
    "503": Bound("", 0, 1),
}


class Trend(NamedTuple):
    """`first` and `last` are the medians of the thirds at the ends."""

    measure: str
    first: float
    last: float
    growth: float
    allowed: float

    @property
    def too_much(self) -> bool:
        return self.growth > self.allowed


def slope(points: Sequence[Point]) -> float:
    """Theil and Sen: the median of the slopes of all pairs; outliers move it little."""
    slopes = [(y - v) / (x - t) for (t, v), (x, y) in combinations(points, 2) if x != t]
    return median(slopes) if slopes else 0.0


def trend(measure: str, points: Sequence[Point]) -> Trend | None:
    """How a measure moved over one life, its warm beginning left out; None: too few samples."""
    if not points:
        return None
    start, end = points[0][0], points[-1][0]
    warm = [one for one in points if one[0] >= start + WARM * (end - start)]
    if len(warm) < LEAST:
        return None
    third = max(1, len(warm) // 3)
    first, last = (median(v for _, v in part) for part in (warm[:third], warm[-third:]))
    growth = slope(warm) * (warm[-1][0] - warm[0][0])
    return held(measure, first, last, growth)


def between(measure: str, former: Sequence[Point], latter: Sequence[Point]) -> Trend:
    """How a measure moved from one life to a later one of the same age."""
    first, last = (median(value for _, value in points) for points in (former, latter))
    return held(measure, first, last, last - first)


def held(measure: str, first: float, last: float, growth: float) -> Trend:
    bound = BOUNDS[measure]
    return Trend(measure, first, last, growth, bound.share * first + bound.more)
