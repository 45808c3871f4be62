"""The registry of one `Metrics`, and how its families are made."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from router.metrics.samples import Count, Histogram, Sample, Samples

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
