"""
The index: of the rules that name an event, only those whose equality can hold are evaluated.

A rule is filed under one condition of its AND spine that must be equal to a known value: the one
that fewest rules share. Skipping a rule so is exact: its condition could only be false, or err.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from router.expressions import Failed, Need, index_key, needs_of
from router.rules.specs import CompiledRule, Condition

Scope = Mapping[str, Any]
Judge = Callable[[Scope], bool | Failed]
_UNREADABLE = frozenset({"def", "secret", "results"})  # lazy, or not there when matching


class Candidate(msgspec.Struct, frozen=True):
    """A rule, its place in the file, and its whole condition as one call (None: it has none)."""

    place: int
    rule: CompiledRule
    judge: Judge | None


class Index:
    """The candidates of an event among some rules, in file order."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        needs = [_needs(candidate.rule) for candidate in candidates]
        sharing = Counter(entry for each in needs for need in each for entry in _entries(need))
        always: list[Candidate] = []
        filed: dict[tuple[str, ...], dict[Any, list[Candidate]]] = {}
        for candidate, each in zip(candidates, needs, strict=True):
            if not each:
                always.append(candidate)
                continue
            best = min(each, key=lambda need: sum(sharing[entry] for entry in _entries(need)))
            bucket = filed.setdefault(best.path, {})
            for key in dict.fromkeys(index_key(value) for value in best.values):
                bucket.setdefault(key, []).append(candidate)
        self._always = tuple(always)
        self._filed = tuple(filed.items())
        self.empty = not candidates

    def candidates(self, scope: Scope) -> Sequence[Candidate]:
        """The rules that may match this scope."""
        found: list[Candidate] = []
        sources = 1 if self._always else 0
        for path, buckets in self._filed:
            value: Any = scope
            for name in path:
                value = value.get(name) if value.__class__ is dict else None
            hits = buckets.get(index_key(value))
            if hits:
                found += hits
                sources += 1
        if not self._always:
            return found if sources <= 1 else sorted(found, key=place)
        return self._always if not found else sorted((*self._always, *found), key=place)

    def filing(self) -> dict[int, tuple[str, ...]]:
        """For `explain`: the path by which each filed rule is found, by the rule's place."""
        return {
            candidate.place: path
            for path, buckets in self._filed
            for bucket in buckets.values()
            for candidate in bucket
        }


def candidates_of(rules: Iterable[CompiledRule]) -> list[Candidate]:
    """Rules with their places and conditions, compiled here and now rather than at first use."""
    return [Candidate(i, rule, judge_of(rule)) for i, rule in enumerate(rules)]


def place(candidate: Candidate) -> int:
    """Where in the file it stands."""
    return candidate.place


def judge_of(rule: CompiledRule) -> Judge | None:
    """All conditions of a rule as one call: one false makes it false, even beside an error."""
    if not rule.match:
        return None
    if len(rule.match) == 1 and rule.match[0].test is not None:
        return rule.match[0].test.verdict  # the usual rule pays for one call only
    return partial(_all_of, rule.match)


def condition_verdict(condition: Condition, scope: Scope) -> bool | Failed:
    """One item of `match`."""
    if condition.test is not None:
        return condition.test.verdict(scope)
    if condition.negate is not None:
        inner = condition_verdict(condition.negate, scope)
        return inner if isinstance(inner, Failed) else not inner
    return _any_of(condition.any_of or (), scope)


def _all_of(conditions: tuple[Condition, ...], scope: Scope) -> bool | Failed:
    failed: Failed | None = None
    for condition in conditions:
        result = condition_verdict(condition, scope)
        if result is False:
            return False
        if result is not True:
            failed = failed or result
    return True if failed is None else failed


def _any_of(conditions: tuple[Condition, ...], scope: Scope) -> bool | Failed:
    failed: Failed | None = None
    for condition in conditions:
        result = condition_verdict(condition, scope)
        if result is True:
            return True
        if result is not False:
            failed = failed or result
    return False if failed is None else failed


def _needs(rule: CompiledRule) -> list[Need]:
    return [
        need
        for condition in rule.match
        if condition.test is not None
        for need in needs_of(condition.test)
        if need.path[0] not in _UNREADABLE
    ]


def _entries(need: Need) -> list[tuple[tuple[str, ...], Any]]:
    return [(need.path, index_key(value)) for value in need.values]
