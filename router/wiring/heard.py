"""What dispatch tells becomes metrics and log lines."""

from router.log import Log
from router.metrics import Metrics
from router.model.job import Job, Settlement


class Heard:
    """A dispatch listener. Successes are counted; failures are also logged."""

    def __init__(self, metrics: Metrics, log: Log) -> None:
        self._metrics = metrics
        self._log = log

    def settled(self, job: Job, settlement: Settlement, held: bool) -> None:
        """An attempt ended; `held` False: its lease was lost and nothing was written."""
        if not held:
            self._metrics.lease_lost()
            self._log.warning("lease lost", job=job.id, rule=job.rule)
            return
        attempt = settlement.attempt
        self._metrics.attempted(job.kind, attempt.outcome)
        if settlement.state == "succeeded":
            self._metrics.job_ended(job.kind, "succeeded")
            self._say_success(job, settlement)
        elif settlement.state == "dead":
            self._metrics.job_ended(job.kind, "dead")
            self._say("error", "dead letter", job, settlement)
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

    def leaked(self, job: Job, error: Exception) -> None:
        """A defect of ours: the traceback goes to the log, never to a result."""
        self._log.error("defect", job=job.id, rule=job.rule, exc_info=error)

    def store_failed(self, verb: str, error: Exception) -> None:
        """The store could not answer dispatch."""
        self._log.error("store failed", verb=verb, error=str(error))
