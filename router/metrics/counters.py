"""What the router counts: one verb a thing that happens."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from router.metrics.samples import Durations, Evaluations, MetricFactory

ACK_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
COMMIT_BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 2.5)
MATCH_BUCKETS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
STANDING = ("available", "waiting", "running", "retryable", "dead")
BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

NO_ENDPOINT = "-"
"""The endpoint label of requests that name none of ours."""


class RuleTotals(NamedTuple):
    """What one rule did since this process began, and when it last matched, shadow or not."""

    evaluated: int
    matched: int
    errored: int
    shadowed: int
    last_matched_at: int | None = None


ActivityKey = tuple[Literal["delivery", "refusal", "attempt"], str, str]
"""What happened, to which endpoint or target, and how."""


class ActivityTotals(NamedTuple):
    """
    How often it happened since this process began, and milliseconds: of all together, and of the
    longest since somebody asked.
    """

    times: int
    ms: int = 0
    longest_ms: int = 0


class Metrics:
    """
    Everything the router counts. Times in seconds.

    Counters are plain numbers in a dict, turned into samples when somebody looks.
    """

    def __init__(self) -> None:
        self._made = MetricFactory()
        self.render = self._made.text
        """All of it, in the Prometheus text format."""
        self._make_arrivals(self._made)
        self._make_rules(self._made)
        self._make_jobs(self._made)
        self._make_running(self._made)
        self._made.process()

    def _make_arrivals(self, made: MetricFactory) -> None:
        self._deliveries = made.counter(
            "router_deliveries", "Genuine deliveries, by what became of them", "endpoint", "result"
        )
        self.delivered = self._deliveries.add
        """One genuine delivery: accepted, duplicate, unmatched, unparsed or too_complex."""
        self.received = self._deliveries.under
        """Genuine deliveries of an endpoint so far, duplicates too."""
        self._refused = made.counter(
            "router_refused", "Requests refused, by reason", "endpoint", "reason"
        )
        self.refusals = self._refused.by_second
        """Requests that an endpoint refused so far, by reason."""
        self.commit_failed = made.counter(
            "router_commit_failures", "Genuine deliveries that the store did not take", "endpoint"
        ).add
        """One was answered 503, for its commit failed or came too late."""
        self.visited = made.counter(
            "router_visits", "Addresses of proved handshakes, by outcome", "endpoint", "outcome"
        ).add
        """One that a handshake wanted fetched: fetched or given_up."""
        self._ack = made.histogram(
            "router_ack_seconds",
            "Judging of its group to the answer",
            ACK_BUCKETS,
            "provider",
        )
        self._late = made.counter(
            "router_ack_late",
            "2xx later than the sender waits for one (its ack_within)",
            "provider",
        )
        self.version_differed = made.counter(
            "router_api_version_differs", "Deliveries of another API version", "endpoint"
        ).add
        """A delivery bore another API version than its endpoint expects."""
        self._silent = made.gauge(
            "router_endpoint_silent", "1: nothing came for longer than expect_every", "endpoint"
        )
        self.recovered = made.counter(
            "router_recovered", "Deliveries that the sender had missed", "endpoint", "result"
        ).grow
        """So many that an endpoint's sender could not deliver were requested, stored, known …"""
        self.recovery_done = made.last(
            "router_recovery_timestamp_seconds",
            "When all that a sender could not deliver was last asked for",
            "endpoint",
        ).__setitem__
        """All that a sender could not deliver was asked for, at that Unix millisecond."""
        self._secrets = made.counter("router_secret_uses", "Deliveries a secret verified", "secret")
        self._secret_at = made.last(
            "router_secret_last_used_timestamp_seconds",
            "When a secret last verified a delivery",
            "secret",
        )

    def _make_rules(self, made: MetricFactory) -> None:
        self.routed = made.histogram(
            "router_match_seconds", "Reading and routing one delivery, every 16th", MATCH_BUCKETS
        ).observe
        """One delivery was read and routed in so long."""
        self._matched = made.counter("router_rule_matches", "Events a rule matched", "rule")
        self._matched_at: dict[str, int] = {}
        self._errors = made.counter("router_rule_errors", "Events a rule erred on", "rule")
        self.rule_erred = self._errors.add
        """A rule's condition failed on an event, so it did not match."""
        self._shadowed = made.counter(
            "router_rule_shadow_matches", "Events a rule in shadow matched", "rule"
        )
        self.rule_shadowed = self._shadowed.add
        """One of its matches was in shadow."""
        self._asked = Evaluations()
        self.rules_asked = self._asked.add
        """The rules that one event was held against; a tuple is one that other events share."""
        made.watched(
            "router_rule_evaluations_total", "Evaluations of a rule", "rule", self._asked.by_rule
        )

    def _make_jobs(self, made: MetricFactory) -> None:
        self.job_ended = made.counter(
            "router_jobs", "Jobs ended, by outcome", "kind", "outcome"
        ).add
        """One job ended: succeeded, dead or cancelled."""
        self.attempted = made.counter("router_attempts", "Attempts ended", "kind", "outcome").add
        """One attempt ended: succeeded, failed, dead, interrupted, dry or skipped."""
        self._calls = Durations()
        self.called = self._calls.add
        """One attempt of a target ended, by outcome, after so many milliseconds."""
        self.cancelled = made.counter(
            "router_cancelled", "Jobs that will not run, by reason", "reason"
        ).add
        """A job will not run: superseded, busy, predecessor_dead, not_needed, when and the like."""
        self.ungrouped = made.counter(
            "router_ungrouped", "Runs whose concurrency group has no value", "rule"
        ).add
        """The concurrency group of a run had no value, or failed: it takes no turn."""
        self._standing = made.gauge(
            "router_jobs_standing", "Jobs that have not ended, and dead ones, by state", "state"
        )
        self._lag = made.gauge(
            "router_lag_seconds", "How long the job that is due the longest has been so"
        )
        self.lease_lost = made.counter(
            "router_leases_lost", "Results dropped: the lease was another's"
        ).add
        """A result came from a holder that no longer held the job."""

    def _make_running(self, made: MetricFactory) -> None:
        self.log_lines_lost = made.counter(
            "router_log_lines_lost", "Lines of the log that could not be written"
        ).stands_at
        """So many lines of the log were lost since the start."""
        self.clock_stepped = made.counter(
            "router_clock_steps", "How often the machine's clock was set, not just slewed"
        ).add
        """Somebody set the machine's clock."""
        self._batch = made.histogram("router_commit_batch", "Writes in one commit", BATCH_BUCKETS)
        self._commit = made.histogram(
            "router_commit_seconds", "One commit and sync", COMMIT_BUCKETS
        )
        self.loop_late = made.histogram(
            "router_loop_late_seconds", "How late the event loop is, each second", ACK_BUCKETS
        ).observe
        """The event loop got to something so many seconds after it was due."""
        self.stands_ready = made.gauge("router_ready", "Whether /readyz says so: 1 or 0").set
        """Whether a delivery could be committed now, and should be sent here."""
        self._reloads = made.counter("router_reloads", "Reloads of the rules file", "outcome")
        self._generation = made.gauge(
            "router_ruleset_info", "The generation in force", "generation"
        )
        self._reload_ok = made.gauge(
            "router_reload_ok", "0: the last reload failed, older rules are in force"
        )
        self._reloaded_at = made.gauge(
            "router_reload_timestamp_seconds", "When the rules in force were read"
        )

    def refused(self, endpoint: str | None, reason: str) -> None:
        """One request refused; None: it named no endpoint of ours."""
        self._refused.add(endpoint or NO_ENDPOINT, reason)

    def silent(self, endpoint: str, is_silent: bool) -> None:
        """Whether an endpoint has received nothing for too long."""
        self._silent.labels(endpoint).set(int(is_silent))

    def acked(self, provider: str, seconds: float, within: float | None = None) -> None:
        """One 2xx, so long after its group began; the sender waits for it `within` seconds."""
        self._ack.observe(seconds, provider)
        if within is not None and seconds > within:
            self._late.add(provider)

    def awaited(self, providers: Iterable[str]) -> None:
        """The senders that wait for their 2xx only so long."""
        for provider in providers:
            self._late.begin(provider)

    def work_stands(self, states: Mapping[str, int], lag_ms: int) -> None:
        """Jobs that have not ended, or are dead, by state; how late the latest is."""
        for state in STANDING:
            self._standing.labels(state).set(states.get(state, 0))
        self._lag.set(lag_ms / 1000)

    def rule_matched(self, rule: str, at: int) -> None:
        """One event, received at that Unix millisecond, matched a rule."""
        self._matched.add(rule)
        self._matched_at[rule] = at

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
                self._matched_at.get(rule),
            )
            for rule in dict.fromkeys((*asked, *matched, *erred))
        }

    def activity(self) -> Mapping[ActivityKey, ActivityTotals]:
        """What happened since this process began, but for the longest: that is taken by asking."""
        totals: dict[ActivityKey, ActivityTotals] = {}
        for (endpoint, result), count in self._deliveries.samples():
            totals["delivery", endpoint, result] = ActivityTotals(int(count))
        for (endpoint, reason), count in self._refused.samples():
            totals["refusal", endpoint, reason] = ActivityTotals(int(count))
        for (target, outcome), took in self._calls.take():
            totals["attempt", target, outcome] = ActivityTotals(*took)
        return totals

    def secret_used(self, secret: str, at: int | None = None) -> None:
        """A secret, by its name, proved a delivery genuine, at that Unix millisecond."""
        self._secrets.add(secret)
        if at is not None:
            self._secret_at[secret] = at

    def committed(self, writes: int, seconds: float) -> None:
        """One transaction was committed and synced."""
        self._batch.observe(writes)
        self._commit.observe(seconds)

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
        self._made.watched(f"router_{name}", about, label, read)

    def watch(self, name: str, about: str, read: Callable[[], float]) -> None:
        """A gauge whose value is asked for when somebody looks (`router_NAME`)."""
        self._made.gauge(f"router_{name}", about).set_function(read)

    def value(self, sample: str, **labels: str) -> float:
        """What one sample stands at (0 if it never moved), for status pages and tests."""
        return self._made.value(sample, labels)
