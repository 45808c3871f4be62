"""What happens becomes metrics, log lines and the signal to whoever listens."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from router.dispatch.observed import (
    AttemptEnded,
    Defect,
    JobsCancelled,
    LeaseLost,
    StoreFailed,
)
from router.intake.observed import (
    CommitFailed,
    DeliveryRouted,
    DeliveryStored,
    HandshakeAnswered,
    IntakeDefect,
    RequestRefused,
    ReviveFailed,
    VersionDiffered,
)
from router.log import Log
from router.metrics import Metrics
from router.model.delivery import RECOVERED, Delivery
from router.model.job import Job, Settlement
from router.model.observed import Observed
from router.model.settings import OWN
from router.model.target import TargetChange
from router.refusals import PROBE
from router.rules.plan import Plan
from router.serving.own_events import OwnEventPlanned, OwnEventStored
from router.store.values import Accepted

NAMES_SHOWN = 10
ODD_VERSIONS_MAX = 100

Handlers = Mapping[type[Observed], Callable[[Any], object]]


class Observers:
    """One observer made of several: each value goes to the handlers of its type, in order."""

    def __init__(self, *several: Handlers) -> None:
        self._handlers: dict[type[Observed], tuple[Callable[[Any], object], ...]] = {}
        for handlers in several:
            for kind, handle in handlers.items():
                self._handlers[kind] = (*self._handlers.get(kind, ()), handle)

    def __call__(self, happened: Observed) -> None:
        for handle in self._handlers.get(type(happened), ()):
            handle(happened)


class IntakeObserver:
    """Counts deliveries and refusals, and logs a line for each; the router's own events too."""

    def __init__(self, metrics: Metrics, log: Log, own: Log) -> None:
        self._metrics, self._log, self._own = metrics, log, own
        self._odd_versions: dict[tuple[str, str], None] = {}

    def handlers(self) -> Handlers:
        """By the type of what is observed."""
        return {
            CommitFailed: self._commit_failed,
            DeliveryRouted: lambda e: self._metrics.routed(e.seconds),
            DeliveryStored: self._stored,
            HandshakeAnswered: self._handshake,
            IntakeDefect: lambda e: self._log.error(
                "request failed", endpoint=e.endpoint, error=repr(e.error), exc_info=e.error
            ),
            OwnEventPlanned: self._own_planned,
            OwnEventStored: self._own_stored,
            RequestRefused: self._refused,
            ReviveFailed: lambda e: self._log.error(
                "could not revive", delivery=e.delivery, error=str(e.error)
            ),
            VersionDiffered: self._version_differed,
        }

    def _stored(self, e: DeliveryStored) -> None:
        delivery, plan, endpoint, receipt = e.accepted.delivery, e.plan, e.endpoint, e.receipt
        metrics = self._metrics
        if e.secret is not None:
            metrics.secret_used(e.secret, delivery.received_at)
        verdict = result = "duplicate"
        if isinstance(receipt, Accepted):
            verdict, result = "accepted", delivery.state
            self._count(delivery, plan, self._log)
            for reason in receipt.cancelled:
                metrics.cancelled(reason)
        metrics.delivered(endpoint.name, result)
        sender, most = endpoint.settings.shown_provider, endpoint.provider.ack_within_s
        if RECOVERED not in delivery.flags:  # nobody waits for an answer
            metrics.acked(sender, e.seconds, most)
        self._log.info(
            "delivery",
            endpoint=endpoint.name,
            delivery=receipt.delivery,
            verdict=verdict,
            state=delivery.state,
            events=first_names([one.name for one in plan.events]),
            rules=first_names([job.rule for job in plan.jobs]),
            ms=_ms(e.seconds),
        )

    def _own_planned(self, e: OwnEventPlanned) -> None:
        self._metrics.delivered(OWN, e.delivery.state)
        self._count(e.delivery, e.plan, self._own)
        names = [one.name for one in e.plan.events]
        rules = list(dict.fromkeys(job.rule for job in e.plan.jobs))
        self._own.info("own event", delivery=e.delivery.id, events=names, rules=rules)

    def _own_stored(self, e: OwnEventStored) -> None:
        for reason in e.receipt.cancelled:
            self._metrics.cancelled(reason)

    def _count(self, delivery: Delivery, plan: Plan, log: Log) -> None:
        """Which rules were evaluated, and what each made of each event."""
        metrics, at = self._metrics, delivery.received_at
        for rule in plan.ungrouped:
            metrics.ungrouped(rule)
        for found in plan.matches:
            metrics.rules_asked(found.evaluated)
            for shadow in found.shadow:
                metrics.rule_shadowed(shadow.id)
            for matched in found.live + found.shadow + found.paused:
                metrics.rule_matched(matched.id, at)
            for rule, reason in found.errors:
                metrics.rule_erred(rule)
                log.debug("rule error", rule=rule, reason=reason, delivery=delivery.id)

    def _handshake(self, e: HandshakeAnswered) -> None:
        self._metrics.delivered(e.endpoint, "handshake")
        self._log.info("handshake", endpoint=e.endpoint, peer=e.peer)

    def _commit_failed(self, e: CommitFailed) -> None:
        self._metrics.commit_failed(e.endpoint)
        self._log.error("store unavailable", endpoint=e.endpoint, error=str(e.error))

    def _refused(self, e: RequestRefused) -> None:
        refused = e.refused
        self._metrics.refused(e.endpoint, PROBE if e.probe else refused.reason)
        if e.probe:
            return
        fields: dict[str, Any] = {"endpoint": e.endpoint, "reason": refused.reason}
        if e.judged:
            fields |= {"hint": refused.hint, "peer": e.peer}
            self._log.at("warning", "refused", fields)
        else:  # strangers can be many: only for who looks closely
            fields |= {"status": refused.status, "peer": e.peer}
            self._log.at("debug", "turned away", fields)

    def _version_differed(self, e: VersionDiffered) -> None:
        """Logged once each: a sender that has moved on says the same with every delivery."""
        self._metrics.version_differed(e.endpoint)
        odd = (e.endpoint, e.version)
        if odd not in self._odd_versions and len(self._odd_versions) < ODD_VERSIONS_MAX:
            self._odd_versions[odd] = None
            fields = {"endpoint": e.endpoint, "version": e.version, "expected": e.expected}
            self._log.at("warning", "another api version", fields)


class DispatchObserver:
    """Counts attempts and ends of jobs. Successes are counted; failures are also logged."""

    def __init__(self, metrics: Metrics, log: Log) -> None:
        self._metrics, self._log = metrics, log

    def handlers(self) -> Handlers:
        """By the type of what is observed."""
        return {
            AttemptEnded: self._ended,
            # The traceback goes to the log, never to a result.
            Defect: lambda e: self._log.error(
                "defect", job=e.job.id, rule=e.job.rule, exc_info=e.error
            ),
            JobsCancelled: self._cancelled,
            LeaseLost: self._lease_lost,
            StoreFailed: lambda e: self._log.error("store failed", verb=e.verb, error=str(e.error)),
            TargetChange: self._target_changed,
        }

    def _ended(self, e: AttemptEnded) -> None:
        job, settlement, state = e.job, e.settlement, e.settlement.state
        attempt = settlement.attempt
        self._metrics.attempted(job.kind, attempt.outcome)
        took = max(0, attempt.ended_at - attempt.started_at)
        self._metrics.called(job.target, "dead" if state == "dead" else attempt.outcome, took)
        if state in ("succeeded", "dead", "cancelled"):
            self._metrics.job_ended(job.kind, state)
        if state == "succeeded":
            self._log_success(job, settlement)
        elif state == "dead":
            self._log_end("error", "dead letter", job, settlement)
        elif state == "cancelled":
            word = (settlement.reason or "").partition(":")[0]
            self._metrics.cancelled(word)
            level = "warning" if word == "when_error" else "debug"
            self._log_end(level, "not run", job, settlement)
        else:
            self._log_end("warning", "attempt failed", job, settlement)

    def _log_success(self, job: Job, _: Settlement) -> None:
        """Kept short: on a busy router this is the most frequent of all calls."""
        self._log.debug("succeeded", job=job.id, rule=job.rule, action=job.action)

    def _log_end(self, level: str, words: str, job: Job, settlement: Settlement) -> None:
        fields = {
            "job": job.id,
            "delivery": job.delivery,
            "rule": job.rule,
            "action": job.action,
            "attempt": settlement.attempt.number,
            "reason": settlement.reason or settlement.attempt.reason,
            "due_at": settlement.due_at,
        }
        self._log.at(level, words, fields)

    def _lease_lost(self, e: LeaseLost) -> None:
        self._metrics.lease_lost()
        self._log.warning("lease lost", job=e.job.id, rule=e.job.rule)

    def _cancelled(self, e: JobsCancelled) -> None:
        for reason in e.reasons:
            self._metrics.cancelled(reason)
        reasons = sorted(set(e.reasons))
        self._log.info("cancelled", after=e.job.id, rule=e.job.rule, reasons=reasons)

    def _target_changed(self, change: TargetChange) -> None:
        self._log.at(
            "info" if change.new in ("healthy", "recovering") else "error",
            f"target {change.new}",
            {"target": change.target, "was": change.old, "reason": change.reason, "by": change.by},
        )


def visit_handlers(want: Callable[[str, str], object]) -> Handlers:
    """Addresses that proved handshakes name, for who fetches them."""

    def answered(e: HandshakeAnswered) -> None:
        if e.visit is not None:
            want(e.endpoint, e.visit)

    return {HandshakeAnswered: answered}


def signal_handlers(changed: Callable[[], object]) -> Handlers:
    """What lists show: deliveries, ends of attempts and jobs, refusals, the router's own events."""
    kinds = (AttemptEnded, DeliveryStored, JobsCancelled, OwnEventStored, RequestRefused)
    return dict.fromkeys(kinds, lambda _: changed())


def first_names(names: list[str]) -> list[str]:
    """A few of the names, each once: a batch of a thousand still makes one short line."""
    return names if len(names) < 2 else list(dict.fromkeys(names))[:NAMES_SHOWN]


@lru_cache(maxsize=1)  # the deliveries of a group took equally long
def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
