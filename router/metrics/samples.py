"""The registry, and numbers that move with every delivery: plain dicts until somebody looks."""

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

ASKED_KEPT = 1_000
"""Different sets of candidates that are counted as one before they are written out by rule."""

Sample = tuple[tuple[str, ...], float]
"""Label values, and what they stand at."""


class Samples:
    """A family of the registry whose samples are asked for when somebody looks."""

    __slots__ = ("_family", "_read")

    def __init__(self, family: Callable[[], Any], read: Callable[[], Iterable[Sample]]) -> None:
        self._family = family
        self._read = read

    def describe(self) -> list[Any]:
        """The family without samples, for the registry."""
        return [self._family()]

    def collect(self) -> list[Any]:
        """The family as it stands."""
        family = self._family()
        for labels, value in self._read():
            family.add_metric(labels, value)
        return [family]


class Count:
    """A counter by label values; a few of them move with every delivery."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values = defaultdict[tuple[str, ...], int](int)

    def add(self, *labels: str) -> None:
        """One more."""
        self._values[labels] += 1

    def grow(self, count: int, *labels: str) -> None:
        """So many more."""
        self._values[labels] += count

    def stands_at(self, value: int) -> None:
        """What somebody else counted."""
        self._values[()] = value

    def begin(self, *labels: str) -> None:
        """Show it from now on, also while it has not moved: who watches for growth needs that."""
        self._values.setdefault(labels, 0)

    def by_first(self) -> dict[str, int]:
        """The values by their only label."""
        return {labels[0]: value for labels, value in self._values.items()}

    def by_second(self, first: str) -> dict[str, int]:
        """The values with this first label, by their second."""
        return {labels[1]: value for labels, value in self._values.items() if labels[0] == first}

    def under(self, first: str) -> int:
        """The sum of the values with this first label."""
        return sum(value for labels, value in self._values.items() if labels[0] == first)

    def samples(self) -> list[Sample]:
        """What each stands at."""
        return list(self._values.items())


class Durations:
    """How often things ended and how long they took, by two names."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values = defaultdict[tuple[str, str], list[int]](lambda: [0, 0, 0])

    def add(self, first: str, second: str, milliseconds: int) -> None:
        """One more."""
        value = self._values[first, second]
        value[0] += 1
        value[1] += milliseconds
        value[2] = max(value[2], milliseconds)

    def take(self) -> list[tuple[tuple[str, str], tuple[int, int, int]]]:
        """How many so far, their sum, and the longest since it was taken last."""
        taken = [(names, (value[0], value[1], value[2])) for names, value in self._values.items()]
        for value in self._values.values():
            value[2] = 0
        return taken


class Evaluations:
    """
    How often each rule was evaluated. Most events share their candidates with others: those are
    counted as one, whatever their number, until somebody looks. Of a candidate only the id of its
    `rule` counts; what it is stands in a package above.
    """

    __slots__ = ("_rules", "_shared")

    def __init__(self) -> None:
        self._rules: dict[str, int] = {}
        self._shared: dict[int, list[Any]] = {}  # id of a tuple -> it, so often

    def add(self, pieces: Iterable[Sequence[Any]]) -> None:
        """One event."""
        shared = self._shared
        for piece in pieces:
            if piece.__class__ is not tuple:
                self._spread(piece, 1)
                continue
            if (seen := shared.get(id(piece))) is not None:
                seen[1] += 1
                continue
            if len(shared) >= ASKED_KEPT:
                self.by_rule()
            shared[id(piece)] = [piece, 1]

    def by_rule(self) -> dict[str, int]:
        """All of it."""
        for piece, times in self._shared.values():
            self._spread(piece, times)
        self._shared.clear()
        return self._rules

    def _spread(self, piece: Sequence[Any], times: int) -> None:
        rules = self._rules
        for candidate in piece:
            name = candidate.rule.id
            rules[name] = rules.get(name, 0) + times


class BucketCounts:
    """Values of one set of labels: how many in each bucket (the last: above all), and their sum."""

    __slots__ = ("counts", "since", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * buckets
        self.total = 0.0
        self.since = time.time()  # as the registry's own histogram says it


class Histogram:
    """
    How values spread over buckets, by label values; a family of the registry.

    It is ours because the registry's takes two locks and three calls for each value.
    """

    __slots__ = ("_bounds", "_family", "_found", "_labels", "_names")

    def __init__(
        self,
        family: Callable[[], Any],
        labels: Sequence[str],
        bounds: Sequence[float],
        names: Iterable[str],
    ) -> None:
        """`bounds`: the greatest value of each bucket; `names`: as the registry writes those."""
        self._family = family
        self._labels = labels
        self._bounds = tuple(bounds)
        self._names = (*names, "+Inf")
        self._found: dict[tuple[str, ...], BucketCounts] = {}

    def observe(self, value: float, *labels: str) -> None:
        """One value."""
        found = self._found.get(labels) or self.begin(*labels)
        found.counts[bisect_left(self._bounds, value)] += 1
        found.total += value

    def begin(self, *labels: str) -> BucketCounts:
        """Show these labels from now on."""
        return self._found.setdefault(labels, BucketCounts(len(self._names)))

    def describe(self) -> list[Any]:
        """The family without samples, for the registry."""
        return [self._family()]

    def collect(self) -> list[Any]:
        """The family as it stands."""
        family = self._family()
        for labels, found in list(self._found.items()):
            sums = accumulate(found.counts)
            family.add_metric(labels, list(zip(self._names, sums, strict=True)), found.total)
            named = dict(zip(self._labels, labels, strict=True))
            family.add_sample(f"{family.name}_created", named, found.since)
        return [family]


READ_NOW = "_total"
"""How the name of a counter ends whose values are read when somebody looks."""


class MetricFactory:
    """Makes families, each known to the registry under its name."""

    def __init__(self) -> None:
        import prometheus_client as prom  # noqa: PLC0415 - costly: `check` never counts
        from prometheus_client.core import (  # noqa: PLC0415
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )
        from prometheus_client.utils import floatToGoString  # noqa: PLC0415

        self._registry: Any = prom.CollectorRegistry()
        self._text, self._process = prom.generate_latest, prom.ProcessCollector
        self._gauge, self._bound = prom.Gauge, floatToGoString
        self._counts, self._stands = CounterMetricFamily, GaugeMetricFamily
        self._spread = HistogramMetricFamily

    def counter(self, name: str, about: str, *labels: str) -> Count:
        """A counter of our own."""
        count = Count()
        self._read(self._counts, name, about, labels, count.samples)
        return count

    def last(self, name: str, about: str, label: str) -> dict[str, int]:
        """When something last happened, by name, in Unix milliseconds: one assignment each time."""
        at: dict[str, int] = {}
        self.watched(name, about, label, lambda: {of: ms / 1000 for of, ms in list(at.items())})
        return at

    def watched(
        self, name: str, about: str, label: str, read: Callable[[], Mapping[str, float]]
    ) -> None:
        """Values by one label that are asked for when somebody looks; `NAME_total` is a counter."""
        kind = self._counts if name.endswith(READ_NOW) else self._stands
        self._read(
            kind, name.removesuffix(READ_NOW), about, (label,),
            lambda: [((of,), value) for of, value in read().items()],
        )  # fmt: skip

    def gauge(self, name: str, about: str, *labels: str) -> Any:
        """A gauge that is set."""
        return self._gauge(name, about, labels, registry=self._registry)

    def histogram(
        self, name: str, about: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        """A histogram of our own."""
        made = Histogram(
            lambda: self._spread(name, about, labels=labels),
            labels,
            buckets,
            map(self._bound, buckets),
        )
        if not labels:
            made.begin()
        self._registry.register(made)
        return made

    def process(self) -> None:
        """What the system counts of this process: time, memory, descriptors."""
        self._process(registry=self._registry)

    def text(self) -> bytes:
        """All families as they stand, in the Prometheus text format."""
        return self._text(self._registry)

    def value(self, sample: str, labels: dict[str, str]) -> float:
        """What one sample stands at; 0 if it never moved."""
        found = self._registry.get_sample_value(sample, labels)
        return 0.0 if found is None else found

    def _read(
        self,
        kind: Any,
        name: str,
        about: str,
        labels: tuple[str, ...],
        read: Callable[[], Iterable[Sample]],
    ) -> None:
        self._registry.register(Samples(lambda: kind(name, about, labels=labels), read))
