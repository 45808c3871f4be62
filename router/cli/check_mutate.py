"""`check --mutate`: which changes of the rules no test notices, and the score of each rule."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from router.cli.output import counted, note, visible
from router.config import Loaded
from router.config.rule_places import RulePlaces
from router.errors import ConfigError, UsageError
from router.rehearsal.mutation import MutationResult, TriedMutant, tried_mutants
from router.rehearsal.run import TrialRunner

Score = tuple[int, int]
"""How many changes some test noticed, of how many."""


class MutatedFile(msgspec.Struct, frozen=True):
    """What a file's tests made of every change of its rules, and where those stand."""

    places: RulePlaces
    result: MutationResult


def mutate(loaded: Loaded, file: str, environ: Mapping[str, str]) -> MutatedFile:
    """
    Try every change of a file's rules; it was loaded thoroughly.

    Raises:
        UsageError: its tests fail as it is.
        ConfigError: it is wrong.
    """
    if loaded.ruleset is None or loaded.places is None:
        raise ConfigError(loaded.diagnostics)
    runner = TrialRunner(loaded.ruleset, environ=environ, random_bytes=os.urandom)
    result = tried_mutants(runner, loaded.trials)
    if result.failing:
        raise UsageError(
            f"{counted(len(result.failing), 'test')} of {file} already fail: "
            f"'{result.failing[0]}'; `router test` says why"
        )
    if result.left:
        tried = len(result.tried)
        note(f"{file}: the first {tried} of {tried + result.left} changes were tried")
    return MutatedFile(loaded.places, result)


def mutation_lines(files: Iterable[MutatedFile]) -> Iterator[str]:
    """Each change that no test notices where it is, then the score of each rule and of all."""
    files = list(files)
    for file in files:
        for one in file.result.tried:
            if one.noticed_by is None:
                path, line, column = file.places.of(one.rule, one.mutant.place)
                said = f"no test notices when {one.mutant.change}"
                yield visible(f"{path}:{line}:{column}: {one.rule}: {said}")
    scores = [row for file in files for row in _scores(file.result).items()]
    width = max((len(rule) for rule, _ in scores), default=0)
    for rule, score in scores:
        yield f"{rule:<{width}}  {_in_words(score)}"
    yield f"score: {_in_words(total(files))}"


def mutation_json(files: Iterable[MutatedFile]) -> dict[str, Any]:
    """The same for programs, with the test that noticed each change."""
    files = list(files)
    rules = []
    for file in files:
        for rule, (noticed, of) in _scores(file.result).items():
            mine = (one for one in file.result.tried if one.rule == rule)
            changes = [_as_json(file, one) for one in mine]
            rules.append({"rule": rule, "noticed": noticed, "of": of, "changes": changes})
    noticed, of = score = total(files)
    left = sum(file.result.left for file in files)
    percent = round(percent_of(score), 1)
    return {"percent": percent, "noticed": noticed, "of": of, "not_tried": left, "rules": rules}


def total(files: Iterable[MutatedFile]) -> Score:
    """The score of all rules together."""
    scores = [(file.result.noticed, len(file.result.tried)) for file in files]
    return sum(noticed for noticed, _ in scores), sum(of for _, of in scores)


def percent_of(score: Score) -> float:
    """All of nothing is all."""
    noticed, of = score
    return 100.0 * noticed / of if of else 100.0


def _as_json(file: MutatedFile, one: TriedMutant) -> dict[str, Any]:
    path, line, column = file.places.of(one.rule, one.mutant.place)
    where = {"file": path, "line": line, "column": column}
    return {**where, "change": one.mutant.change, "noticed_by": one.noticed_by}


def _scores(result: MutationResult) -> dict[str, Score]:
    found: dict[str, Score] = {}
    for one in result.tried:
        noticed, of = found.get(one.rule, (0, 0))
        found[one.rule] = noticed + (one.noticed_by is not None), of + 1
    return found


def _in_words(score: Score) -> str:
    return f"{percent_of(score):.1f} % ({score[0]} of {score[1]} changes noticed)"
