"""What dispatch tells becomes metrics, log lines and, while somebody watches, the live feed."""

import secrets
from collections.abc import Callable, Mapping

from router.clock import Clock
from router.dispatch import Dispatcher
from router.intake import Intake
from router.log import Log
from router.metrics import Metrics
from router.model.job import Job, Settlement
from router.model.target import TargetChange
from router.serving.own_events import OwnEvents
from router.web.feed import Feed


class Heard:
    """A dispatch listener. Successes are counted; failures are also logged."""

    def __init__(self, metrics: Metrics, log: Log) -> None:
        self._metrics = metrics
        self._log = log
        self.told: Callable[[Job, Settlement], None] | None = None  # set while somebody watches
        self.buried: Callable[[str], None] | None = None  # likewise

    def settled(self, job: Job, settlement: Settlement, held: bool) -> None:
        """An attempt ended; `held` False: its lease was lost and nothing was written."""
        if not held:
            self._metrics.lease_lost()
            self._log.warning("lease lost", job=job.id, rule=job.rule)
            return
        attempt = settlement.attempt
        if self.told is not None:
            self.told(job, settlement)
        self._metrics.attempted(job.kind, attempt.outcome)
        if settlement.state == "succeeded":
            self._metrics.job_ended(job.kind, "succeeded")
            self._say_success(job, settlement)
        elif settlement.state == "dead":
            self._metrics.job_ended(job.kind, "dead")
            self._say("error", "dead letter", job, settlement)
        elif settlement.state == "cancelled":
            word = (settlement.reason or "").partition(":")[0]
            self._metrics.job_ended(job.kind, "cancelled")
            self._metrics.cancelled(word)
            level = "warning" if word == "when_error" else "debug"
            self._say(level, "not run", job, settlement)
        else:
            self._say("warning", "attempt failed", job, settlement)

    def _say_success(self, job: Job, _: Settlement) -> None:
        """Kept short: on a busy router this is the most frequent of all calls."""
        self._log.debug("succeeded", job=job.id, rule=job.rule, action=job.action)

    def _say(self, level: str, words: str, job: Job, settlement: Settlement) -> None:
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

    def followed(self, job: Job, cancelled: tuple[str, ...]) -> None:
        """The job's end cancelled others."""
        for reason in cancelled:
            self._metrics.cancelled(reason)
        self._log.info("cancelled", after=job.id, rule=job.rule, reasons=sorted(set(cancelled)))

    def corrupt(self, job: str) -> None:
        """A job is dead because nobody can read it."""
        if self.buried is not None:
            self.buried(job)
        self._log.error("dead letter", job=job, reason="corrupt", why="its row cannot be read")

    def target_changed(self, change: TargetChange) -> None:
        """A target is called no more, or again."""
        self._log.at(
            "info" if change.new in ("closed", "half-open") else "error",
            f"target {change.new}",
            {"target": change.target, "was": change.old, "reason": change.reason, "by": change.by},
        )

    def leaked(self, job: Job, error: Exception) -> None:
        """A defect of ours: the traceback goes to the log, never to a result."""
        self._log.error("defect", job=job.id, rule=job.rule, exc_info=error)

    def store_failed(self, verb: str, error: Exception) -> None:
        """The store could not answer dispatch."""
        self._log.error("store failed", verb=verb, error=str(error))


def live_feed(intake: Intake, heard: Heard, own: OwnEvents, clock: Clock) -> Feed:
    """The live feed; intake, dispatch and our own events tell it only while somebody watches."""

    def attempted(job: Job, settlement: Settlement) -> None:
        feed.attempted(job, settlement)
        if settlement.state == "dead":
            own.ended(job.id)

    def recording(on: bool) -> None:
        intake.told = feed.delivered if on else None
        heard.told = attempted if on else None
        heard.buried = own.ended if on else None
        own.watched(feed.delivered if on else None)

    feed = Feed(clock, boot=secrets.token_hex(4), recording=recording)
    return feed


STATES: Mapping[str, int] = {"closed": 0, "half-open": 1, "open": 2, "paused": 3}


def measure_targets(metrics: Metrics, dispatch: Dispatcher) -> None:
    """How targets stand, for whoever looks at the metrics."""
    metrics.watch_each(
        "target_state",
        "0 closed, 1 half-open, 2 open, 3 paused",
        "target",
        lambda: {one.target: STATES[one.state] for one in dispatch.targets()},
    )
    metrics.watch_each(
        "target_deferred_total",
        "Jobs that came while their target was not called",
        "target",
        lambda: {one.target: one.deferred for one in dispatch.targets() if one.deferred},
    )
