"""One trial after another, each in a router of its own under virtual time."""

import random
from collections.abc import Callable, Iterator, Mapping

import msgspec

from router.expressions import JSON
from router.expressions.compare import same
from router.kinds import KINDS, simulated
from router.kinds.kind import ActionCall
from router.model.job import FailOutcome, Job, Outcome
from router.model.trial import (
    ActionKey,
    Advance,
    HandshakeStep,
    SimulatedAnswer,
    Snapshot,
    Step,
    Trial,
)
from router.rehearsal.assertions import Assertions
from router.rehearsal.explained import TrialExplainer
from router.rehearsal.record import TrialRecord
from router.rehearsal.rig import Rig
from router.rehearsal.senders import RandomBytes, Senders, invented
from router.rehearsal.snapshots import snapshot_difference, snapshot_of
from router.rehearsal.virtual_time import START_MS
from router.rules.live import LiveRuleset
from router.rules.ruleset import Ruleset
from router.store.sqlite.inline import Memory

SNAPSHOT = "snapshot"
"""How the lines about a snapshot begin."""
_SEED = 1
REAL_MAX = 100
"""How often one trial may really run something: a schedule of retries takes no time here."""
NOT_REAL = "not run: it says 'real: true', so its shell and python actions would really run"

Act = Callable[[ActionCall, Job], Outcome]
"""Really runs a call of a shell or python action, and waits for it; virtual time stands still."""


class TrialResult(msgspec.Struct, frozen=True):
    """
    A trial, what came of it, and each expectation that was not met (none: it passed). `sent` is
    what its snapshot is compared with, if it has one.
    """

    trial: Trial
    seen: TrialRecord
    failures: tuple[str, ...]
    sent: JSON = None


class TrialRunner:
    """Where the trials of one ruleset run: compiled once, with secrets invented once."""

    def __init__(
        self,
        ruleset: Ruleset,
        *,
        environ: Mapping[str, str],
        random_bytes: RandomBytes,
        act: Act | None = None,
    ) -> None:
        """`act` runs the shell and python actions of real trials; None: real trials fail."""
        self._keys = invented(ruleset, random_bytes)
        self._live = LiveRuleset(ruleset, self._keys.secrets)
        self._environ = environ
        self._random_bytes = random_bytes
        self._act = act
        self._memory = Memory()
        self.ruleset = ruleset
        self.explainer = TrialExplainer(ruleset)

    def run(self, trial: Trial) -> TrialResult:
        """
        Run one trial: nothing of it is left for the next.

        It has an event loop of its own, so no other may be running in this thread.
        """
        if trial.real and self._act is None:
            return TrialResult(trial, TrialRecord(), (NOT_REAL,))
        seen = TrialRecord()
        replies = {key: list(answers) for key, answers in trial.replies.items()}
        act = self._act if trial.real else None
        waited, prompt = (kind(seen, replies, act) for kind in (_Simulated, _Prompt))
        rig = Rig(
            self._live,
            self._memory,
            seen,
            {k: prompt if kind.local else waited for k, kind in KINDS.items()},
            start_ms=START_MS if trial.clock is None else trial.clock,
            rng=_Steady(_SEED),
            environ=self._environ,
            keys=self._keys,
        )
        senders = Senders(
            self._live.ruleset,
            self._keys,
            clock=rig.clock,
            rng=_Steady(_SEED),
            random_bytes=self._random_bytes,
        )
        try:
            for step in trial.sends:
                _take(step, senders, rig, seen)
            jobs = rig.run_on()
        finally:
            rig.close()
        for rule in self.ruleset.rules:
            if rule.id in seen.hits:
                (seen.shadow if rule.mode == "shadow" else seen.matched).append(rule.id)
        for job in jobs:
            if job.state in ("dead", "cancelled"):
                ended = seen.dead if job.state == "dead" else seen.cancelled
                ended.setdefault((job.rule, job.action), job.reason or "")
        failures = list(Assertions(trial, seen, self.explainer).lines())
        sent, snapshot = None, trial.expect.snapshot
        if snapshot is not None:
            sent = snapshot_of(seen, self._environ)
            failures += _unlike(snapshot, sent)
        return TrialResult(trial, seen, tuple(failures), sent)


def _unlike(snapshot: Snapshot, sent: JSON) -> Iterator[str]:
    if snapshot.sent is None:
        yield f"{SNAPSHOT}: there is none yet; `router test --update` writes it"
    elif not same(snapshot.sent, sent):
        yield f"{SNAPSHOT}: what is sent has changed; `router test --update` accepts it"
        yield from (f"  {line}" for line in snapshot_difference(snapshot.sent, sent))


class _Steady(random.Random):
    """Ids that are the same at every run; no jitter, so that delays are those of the schedule."""

    def uniform(self, a: float, b: float) -> float:
        """What is in the middle."""
        return (a + b) / 2


def _take(step: Step, senders: Senders, rig: Rig, seen: TrialRecord) -> None:
    if isinstance(step, Advance):
        rig.advance(step.by_ms)
        return
    if isinstance(step, HandshakeStep):
        seen.answers += [rig.receive(question) for question in senders.questions(step)]
        return
    for number in range(step.repeat):
        if number and step.every_ms:
            rig.advance(step.every_ms)
        for request in senders.requests(step):
            seen.answers.append(rig.receive(request))


class _Simulated:
    """An action of any kind: its calls are recorded, and answered from `replies`."""

    def __init__(
        self,
        seen: TrialRecord,
        replies: Mapping[ActionKey, list[SimulatedAnswer]],
        act: Act | None,
    ) -> None:
        self._seen = seen
        self._replies = replies
        self._act = act
        self._ran = 0

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Record a call and answer it."""
        return self.answered(call, job)

    def answered(self, call: ActionCall, job: Job) -> Outcome:
        """Record a call and answer it."""
        key = (job.rule, job.action)
        self._seen.calls.setdefault(key, []).append(call)
        if key not in self._replies and KINDS[call.kind].real and self._act:
            self._ran += 1
            if self._ran > REAL_MAX:
                return FailOutcome(f"a test runs at most {REAL_MAX} actions")
            return self._act(call, job)
        answers = self._replies.get(key) or [SimulatedAnswer()]
        # The next of the replies; the last stays.
        return simulated(call, answers.pop(0) if len(answers) > 1 else answers[0])

    async def close(self) -> None:
        """Nothing."""


class _Prompt(_Simulated):
    """Likewise, where dispatch does not wait for it."""

    run_now = _Simulated.answered
