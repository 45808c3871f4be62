"""Which tests notice when a rule is changed in one small way."""

from collections.abc import Container, Mapping, Sequence
from itertools import islice

import msgspec

from router.model.settings import OWN
from router.model.trial import Sending, Trial
from router.rehearsal.run import TrialRunner
from router.rules.mutants import Mutant, mutants_of
from router.rules.specs import CompiledRule

MUTANTS_MAX = 2_000
"""Of a file with more only the first are tried."""


class TriedMutant(msgspec.Struct, frozen=True):
    """A change of a rule, and the test that failed because of it (None: no test did)."""

    rule: str
    mutant: Mutant
    noticed_by: str | None


class MutationResult(msgspec.Struct, frozen=True):
    """
    Every change that was tried, in the order of the file; `left` were too many. `failing` are the
    tests that fail without any change: then nothing was tried.
    """

    tried: tuple[TriedMutant, ...] = ()
    left: int = 0
    failing: tuple[str, ...] = ()

    @property
    def noticed(self) -> int:
        """How many changes some test noticed."""
        return sum(one.noticed_by is not None for one in self.tried)


def tried_mutants(
    runner: TrialRunner, trials: Sequence[Trial], *, most: int = MUTANTS_MAX
) -> MutationResult:
    """
    Change every rule in every way, and run those tests against it that send to its endpoints,
    until one fails. Tests that really run actions are left out.
    """
    trials = [trial for trial in trials if not trial.real]
    results = [runner.run(trial) for trial in trials]
    if failing := tuple(r.trial.name for r in results if r.failures):
        return MutationResult(failing=failing)
    hits = {r.trial.name: r.seen.hits for r in results}
    every = ((rule, mutant) for rule in runner.ruleset.rules for mutant in mutants_of(rule))
    tried = tuple(
        TriedMutant(rule.id, mutant, _noticed_by(runner, rule, mutant, _about(rule, trials, hits)))
        for rule, mutant in islice(every, most)
    )
    return MutationResult(tried, left=sum(1 for _ in every))


def _about(
    rule: CompiledRule, trials: Sequence[Trial], hits: Mapping[str, Container[str]]
) -> list[Trial]:
    """The tests that may notice a change of the rule, those in which it matches first."""
    own = rule.takes(OWN)  # any death may be told to it
    found = [t for t in trials if own or any(rule.takes(name) for name in _endpoints(t))]
    return sorted(found, key=lambda trial: rule.id not in hits[trial.name])


def _endpoints(trial: Trial) -> set[str]:
    return {step.endpoint for step in trial.sends if isinstance(step, Sending)}


def _noticed_by(
    runner: TrialRunner, rule: CompiledRule, mutant: Mutant, trials: Sequence[Trial]
) -> str | None:
    if not trials:
        return None
    # Rules of other endpoints can do nothing in these tests, and reading thousands takes time.
    reached = {OWN}.union(*map(_endpoints, trials))
    named = {name for trial in trials for name in trial.expect.because}
    changed = runner.with_rules(
        tuple(
            mutant.rule if one is rule else one
            for one in runner.ruleset.rules
            if one.id in named or any(one.takes(name) for name in reached)
        )
    )
    return next((trial.name for trial in trials if changed.run(trial).failures), None)
