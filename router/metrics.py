"""
Counters as values: one `Metrics` a process or a test, with its own registry, nothing global.

Label values come from the rules file or from fixed words, never from a stranger's request.
"""

from collections.abc import Callable
from typing import Any

ACK_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
COMMIT_BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 2.5)
BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

NO_ENDPOINT = "-"
"""The endpoint label of requests that name none of ours."""


class Metrics:
    """
    Everything the router counts. Times in seconds.

    Counters are plain numbers in a dict, turned into samples when somebody looks.
    """

    def __init__(self) -> None:
        import prometheus_client as prom  # noqa: PLC0415 - costly: `check` never counts
        from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415

        self._registry = prom.CollectorRegistry()
        registry = self._registry
        self._render = prom.generate_latest

        def counter(name: str, about: str, *labels: str) -> _Count:
            family = CounterMetricFamily
            counted = _Count(lambda: family(name, about, labels=labels))
            registry.register(counted)
            return counted

        def histogram(name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Any:
            return prom.Histogram(name, about, labels, registry=registry, buckets=buckets)

        self._deliveries = counter(
            "router_deliveries", "Genuine deliveries, by what became of them", "endpoint", "result"
        )
        self._refused = counter(
            "router_refused", "Requests refused, by reason", "endpoint", "reason"
        )
        self._ack = _Bound(
            histogram("router_ack_seconds", "Last body byte to answer", ACK_BUCKETS, "provider")
        )
        self._jobs = counter("router_jobs", "Jobs ended, by outcome", "kind", "outcome")
        self._attempts = counter("router_attempts", "Attempts ended", "kind", "outcome")
        self._matched = counter("router_rule_matches", "Events a rule matched", "rule")
        self._errors = counter("router_rule_errors", "Events a rule erred on", "rule")
        self._secrets = counter("router_secret_uses", "Deliveries a secret verified", "secret")
        self._batch = histogram("router_commit_batch", "Writes in one commit", BATCH_BUCKETS)
        self._commit = histogram("router_commit_seconds", "One commit and sync", COMMIT_BUCKETS)
        self._leases = counter("router_leases_lost", "Results dropped: the lease was another's")
        self._reloads = counter("router_reloads", "Reloads of the rules file", "outcome")
        self._generation = prom.Gauge(
            "router_ruleset_info", "The generation in force", ("generation",), registry=registry
        )
        self._gauge = prom.Gauge

    def delivered(self, endpoint: str, result: str) -> None:
        """One genuine delivery: accepted, duplicate, unmatched, unparsed or too_complex."""
        self._deliveries.add(endpoint, result)

    def refused(self, endpoint: str | None, reason: str) -> None:
        """One request refused; None: it named no endpoint of ours."""
        self._refused.add(endpoint or NO_ENDPOINT, reason)

    def acked(self, provider: str, seconds: float) -> None:
        """One 2xx, so long after the last body byte."""
        self._ack(provider).observe(seconds)

    def job_ended(self, kind: str, outcome: str) -> None:
        """One job ended: succeeded, dead or cancelled."""
        self._jobs.add(kind, outcome)

    def attempted(self, kind: str, outcome: str) -> None:
        """One attempt ended: succeeded, failed, dead, interrupted or dry."""
        self._attempts.add(kind, outcome)

    def rule_matched(self, rule: str) -> None:
        """One event matched a rule."""
        self._matched.add(rule)

    def rule_erred(self, rule: str) -> None:
        """A rule's condition failed on an event, so it did not match."""
        self._errors.add(rule)

    def secret_used(self, secret: str) -> None:
        """A secret, by its name, proved a delivery genuine."""
        self._secrets.add(secret)

    def committed(self, writes: int, seconds: float) -> None:
        """One transaction was committed and synced."""
        self._batch.observe(writes)
        self._commit.observe(seconds)

    def lease_lost(self) -> None:
        """A result came from a holder that no longer held the job."""
        self._leases.add()

    def reloaded(self, generation: str) -> None:
        """A ruleset took effect."""
        self._reloads.add("ok")
        self._generation.clear()
        self._generation.labels(generation).set(1)

    def reload_failed(self) -> None:
        """The rules file was wrong; the ruleset before it stays."""
        self._reloads.add("failed")

    def watch(self, name: str, about: str, read: Callable[[], float]) -> None:
        """A gauge whose value is asked for when somebody looks (`router_NAME`)."""
        self._gauge(f"router_{name}", about, registry=self._registry).set_function(read)

    def render(self) -> bytes:
        """All of it, in the Prometheus text format."""
        return self._render(self._registry)

    def value(self, sample: str, **labels: str) -> float:
        """What one sample stands at (0 if it never moved), for status pages and tests."""
        found = self._registry.get_sample_value(sample, labels)
        return 0.0 if found is None else found


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Count:
    """A counter by label values; a few of them move with every delivery."""

    __slots__ = ("_family", "_values")

    def __init__(self, family: Callable[[], Any]) -> None:
        self._family = family
        self._values: dict[tuple[str, ...], int] = {}

    def add(self, *labels: str) -> None:
        """One more."""
        values = self._values
        values[labels] = values.get(labels, 0) + 1

    def describe(self) -> list[Any]:
        """The family without samples, for the registry."""
        return [self._family()]

    def collect(self) -> list[Any]:
        """The family as it stands."""
        family = self._family()
        for labels, value in list(self._values.items()):
            family.add_metric(labels, value)
        return [family]


class _Bound:
    """A family's children by label values: binding takes a lock and a tuple of texts each time."""

    __slots__ = ("_children", "_family")

    def __init__(self, family: Any) -> None:
        self._family = family
        self._children: dict[tuple[str, ...], Any] = {}

    def __call__(self, *labels: str) -> Any:
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = self._family.labels(*labels)
        return child
