"""
Counters as values: one `Metrics` a process or a test, with its own registry, nothing global.

Label values come from the rules file or from fixed words, never from a stranger's request.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

ACK_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
COMMIT_BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 2.5)
MATCH_BUCKETS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
STANDING = ("available", "waiting", "running", "retryable", "dead")
BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

NO_ENDPOINT = "-"
"""The endpoint label of requests that name none of ours."""


ASKED_KEPT = 1_000
"""Different sets of candidates that are counted as one before they are written out by rule."""


class Named(Protocol):
    """A rule: all that is counted of it is its id."""

    @property
    def id(self) -> str: ...


class Asked(Protocol):
    """A candidate of an event."""

    @property
    def rule(self) -> Named: ...


class RuleTotals(NamedTuple):
    """What one rule did since this process began."""

    evaluated: int
    matched: int
    errored: int
    shadowed: int


class Metrics:
    """
    Everything the router counts. Times in seconds.

    Counters are plain numbers in a dict, turned into samples when somebody looks.
    """

    def __init__(self) -> None:
        import prometheus_client as prom  # noqa: PLC0415 - costly: `check` never counts
        from prometheus_client.core import (  # noqa: PLC0415
            CounterMetricFamily,
            GaugeMetricFamily,
        )

        self._registry = prom.CollectorRegistry()
        registry = self._registry
        self._render = prom.generate_latest

        family = CounterMetricFamily

        def counter(name: str, about: str, *labels: str) -> _Count:
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
        self._late = counter(
            "router_ack_late",
            "2xx later than the sender waits for one (its ack_within)",
            "provider",
        )
        self._match = histogram(
            "router_match_seconds", "Reading and routing one delivery, every 16th", MATCH_BUCKETS
        )
        self._jobs = counter("router_jobs", "Jobs ended, by outcome", "kind", "outcome")
        self._attempts = counter("router_attempts", "Attempts ended", "kind", "outcome")
        self._matched = counter("router_rule_matches", "Events a rule matched", "rule")
        self._cancelled = counter("router_cancelled", "Jobs that will not run, by reason", "reason")
        self._ungrouped = counter(
            "router_ungrouped", "Runs whose concurrency group has no value", "rule"
        )
        self._errors = counter("router_rule_errors", "Events a rule erred on", "rule")
        self._shadowed = counter(
            "router_rule_shadow_matches", "Events a rule in shadow matched", "rule"
        )
        self._asked = _Evaluations(
            lambda: family("router_rule_evaluations", "Events a rule was asked", labels=("rule",))
        )
        registry.register(self._asked)
        self._versions = counter(
            "router_api_version_differs", "Deliveries of another API version", "endpoint"
        )
        self._silent = prom.Gauge(
            "router_endpoint_silent",
            "1: nothing came for longer than expect_every",
            ("endpoint",),
            registry=registry,
        )
        self._ranges = prom.Gauge(
            "router_published_ranges_timestamp_seconds",
            "When a sender's address ranges were last fetched",
            ("base",),
            registry=registry,
        )
        self._secrets = counter("router_secret_uses", "Deliveries a secret verified", "secret")
        self._secret_at = _Last(
            lambda: GaugeMetricFamily(
                "router_secret_last_used_timestamp_seconds",
                "When a secret last verified a delivery",
                labels=("secret",),
            )
        )
        registry.register(self._secret_at)
        self._standing = prom.Gauge(
            "router_jobs_standing",
            "Jobs that have not ended, and dead ones, by state",
            ("state",),
            registry=registry,
        )
        self._lag = prom.Gauge(
            "router_lag_seconds",
            "How long the job that is due the longest has been so",
            registry=registry,
        )
        self._batch = histogram("router_commit_batch", "Writes in one commit", BATCH_BUCKETS)
        self._commit = histogram("router_commit_seconds", "One commit and sync", COMMIT_BUCKETS)
        self._leases = counter("router_leases_lost", "Results dropped: the lease was another's")
        self._reloads = counter("router_reloads", "Reloads of the rules file", "outcome")
        self._generation = prom.Gauge(
            "router_ruleset_info", "The generation in force", ("generation",), registry=registry
        )
        self._reload_ok = prom.Gauge(
            "router_reload_ok",
            "0: the last reload failed, older rules are in force",
            registry=registry,
        )
        self._reloaded_at = prom.Gauge(
            "router_reload_timestamp_seconds",
            "When the rules in force were read",
            registry=registry,
        )
        self._gauge = prom.Gauge

    def delivered(self, endpoint: str, result: str) -> None:
        """One genuine delivery: accepted, duplicate, unmatched, unparsed or too_complex."""
        self._deliveries.add(endpoint, result)

    def refused(self, endpoint: str | None, reason: str) -> None:
        """One request refused; None: it named no endpoint of ours."""
        self._refused.add(endpoint or NO_ENDPOINT, reason)

    def refusals(self, endpoint: str) -> dict[str, int]:
        """Requests that an endpoint refused so far, by reason."""
        return self._refused.by_second(endpoint)

    def received(self, endpoint: str) -> int:
        """Genuine deliveries of an endpoint so far, duplicates too."""
        return self._deliveries.under(endpoint)

    def version_differed(self, endpoint: str) -> None:
        """A delivery bore another API version than its endpoint expects."""
        self._versions.add(endpoint)

    def silent(self, endpoint: str, is_silent: bool) -> None:
        """Whether an endpoint has heard nothing for too long."""
        self._silent.labels(endpoint).set(int(is_silent))

    def ranges_fetched(self, base: str, at: int) -> None:
        """Address ranges were fetched from an API, at that Unix millisecond."""
        self._ranges.labels(base).set(at / 1000)

    def acked(self, provider: str, seconds: float, within: float | None = None) -> None:
        """One 2xx, so long after the last body byte; the sender waits for it `within` seconds."""
        self._ack(provider).observe(seconds)
        if within is not None and seconds > within:
            self._late.add(provider)

    def routed(self, seconds: float) -> None:
        """One delivery was read and routed in so long."""
        self._match.observe(seconds)

    def work_stands(self, states: Mapping[str, int], lag_ms: int) -> None:
        """Jobs that have not ended, or are dead, by state; how late the latest is."""
        for state in STANDING:
            self._standing.labels(state).set(states.get(state, 0))
        self._lag.set(lag_ms / 1000)

    def job_ended(self, kind: str, outcome: str) -> None:
        """One job ended: succeeded, dead or cancelled."""
        self._jobs.add(kind, outcome)

    def attempted(self, kind: str, outcome: str) -> None:
        """One attempt ended: succeeded, failed, dead, interrupted, dry or skipped."""
        self._attempts.add(kind, outcome)

    def rule_matched(self, rule: str) -> None:
        """One event matched a rule."""
        self._matched.add(rule)

    def rule_shadowed(self, rule: str) -> None:
        """One of its matches was in shadow."""
        self._shadowed.add(rule)

    def rules_asked(self, pieces: Iterable[Sequence[Asked]]) -> None:
        """The rules that one event was held against; a tuple is one that other events share."""
        self._asked.add(pieces)

    def rule_totals(self) -> Mapping[str, RuleTotals]:
        """What each rule did since this process began, by its id."""
        matched, shadowed = self._matched.by_first(), self._shadowed.by_first()
        asked, erred = self._asked.by_rule(), self._errors.by_first()
        return {
            rule: RuleTotals(
                asked.get(rule, 0),
                matched.get(rule, 0) - shadowed.get(rule, 0),
                erred.get(rule, 0),
                shadowed.get(rule, 0),
            )
            for rule in dict.fromkeys((*asked, *matched, *erred))
        }

    def rule_erred(self, rule: str) -> None:
        """A rule's condition failed on an event, so it did not match."""
        self._errors.add(rule)

    def cancelled(self, reason: str) -> None:
        """A job will not run: superseded, busy, predecessor_dead, not_needed, when and the like."""
        self._cancelled.add(reason)

    def ungrouped(self, rule: str) -> None:
        """The concurrency group of a run had no value, or failed: it takes no turn."""
        self._ungrouped.add(rule)

    def secret_used(self, secret: str, at: int | None = None) -> None:
        """A secret, by its name, proved a delivery genuine, at that Unix millisecond."""
        self._secrets.add(secret)
        if at is not None:
            self._secret_at.at[secret] = at

    def committed(self, writes: int, seconds: float) -> None:
        """One transaction was committed and synced."""
        self._batch.observe(writes)
        self._commit.observe(seconds)

    def lease_lost(self) -> None:
        """A result came from a holder that no longer held the job."""
        self._leases.add()

    def reloaded(self) -> None:
        """A reload succeeded."""
        self._reloads.add("ok")

    def in_force(self, generation: str, at: int) -> None:
        """The ruleset that decides, and the Unix millisecond at which it was read."""
        self._generation.clear()
        self._generation.labels(generation).set(1)
        self._reload_ok.set(1)
        self._reloaded_at.set(at / 1000)

    def reload_failed(self) -> None:
        """The rules file was wrong; the ruleset before it stays."""
        self._reloads.add("failed")
        self._reload_ok.set(0)

    def watch_each(
        self, name: str, about: str, label: str, read: Callable[[], Mapping[str, float]]
    ) -> None:
        """The same with a value for each of a label's values; `NAME_total` is a counter."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

        kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
        family = partial(kind, f"router_{name.removesuffix('_total')}", about, labels=(label,))
        self._registry.register(_Each(family, read))

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

    def by_first(self) -> dict[str, int]:
        """The values by their only label."""
        return {labels[0]: value for labels, value in self._values.items()}

    def by_second(self, first: str) -> dict[str, int]:
        """The values with this first label, by their second."""
        return {labels[1]: value for labels, value in self._values.items() if labels[0] == first}

    def under(self, first: str) -> int:
        """The sum of the values with this first label."""
        return sum(value for labels, value in self._values.items() if labels[0] == first)

    def describe(self) -> list[Any]:
        """The family without samples, for the registry."""
        return [self._family()]

    def collect(self) -> list[Any]:
        """The family as it stands."""
        family = self._family()
        for labels, value in list(self._values.items()):
            family.add_metric(labels, value)
        return [family]


class _Last:
    """When something last happened, by name: one assignment each time."""

    __slots__ = ("_family", "at")

    def __init__(self, family: Callable[[], Any]) -> None:
        self._family = family
        self.at: dict[str, int] = {}

    def describe(self) -> list[Any]:
        """The family without samples, for the registry."""
        return [self._family()]

    def collect(self) -> list[Any]:
        """The family as it stands."""
        family = self._family()
        for name, at in list(self.at.items()):
            family.add_metric((name,), at / 1000)
        return [family]


class _Each:
    """A family whose values are asked for when somebody looks."""

    __slots__ = ("_family", "_read")

    def __init__(self, family: Callable[[], Any], read: Callable[[], Mapping[str, float]]) -> None:
        self._family = family
        self._read = read

    def describe(self) -> list[Any]:
        """The family without samples, for the registry."""
        return [self._family()]

    def collect(self) -> list[Any]:
        """The family as it stands."""
        family = self._family()
        for label, value in self._read().items():
            family.add_metric((label,), value)
        return [family]


class _Evaluations:
    """
    How often each rule was asked. Most events share their candidates with others: those are
    counted as one, whatever their number, until somebody looks.
    """

    __slots__ = ("_family", "_rules", "_shared")

    def __init__(self, family: Callable[[], Any]) -> None:
        self._family = family
        self._rules: dict[str, int] = {}
        self._shared: dict[int, list[Any]] = {}  # id of a tuple -> it, so often

    def add(self, pieces: Iterable[Sequence[Asked]]) -> None:
        """One event."""
        shared = self._shared
        for piece in pieces:
            if piece.__class__ is not tuple:
                self._spread(piece, 1)
                continue
            seen = shared.get(id(piece))
            if seen is not None:
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

    def _spread(self, piece: Sequence[Asked], times: int) -> None:
        rules = self._rules
        for candidate in piece:
            name = candidate.rule.id
            rules[name] = rules.get(name, 0) + times

    def describe(self) -> list[Any]:
        """The family without samples, for the registry."""
        return [self._family()]

    def collect(self) -> list[Any]:
        """The family as it stands."""
        family = self._family()
        for rule, value in self.by_rule().items():
            family.add_metric((rule,), value)
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
