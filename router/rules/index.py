"""
The index: of the rules that name an event, only those are evaluated that can hold.

A rule is filed under one field that must be equal to a known value, or begin with, end with or
hold a known text: the one that fewest rules share. Skipping a rule so is exact: it could only be
false, or err; what cannot end with or hold anything errs as if there were no index.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec

from router.expressions import Expression, Failed, FieldNeed, index_key, needs_of
from router.expressions.nodes import Node
from router.rules.specs import CompiledRule, Condition

Scope = Mapping[str, Any]
Judge = Callable[[Scope], bool | Failed]
_SEARCH_COST = 60
_PIECE_COST = 256
"""What beginning a search, and looking a piece up, cost: as if so many characters were searched."""
_UNREADABLE = frozenset({"def", "secret", "results"})  # lazy, or not there when matching


class Candidate(msgspec.Struct, frozen=True):
    """A rule, its place in the file, and its whole condition as one call (None: it has none)."""

    place: int
    rule: CompiledRule
    judge: Judge | None


class Prefixes:
    """Rules by how a text must begin."""

    def __init__(self, filed: Mapping[str, Sequence[Candidate]]) -> None:
        self._texts = sorted(filed)
        self.filed = tuple(tuple(filed[text]) for text in self._texts)
        self._parents: list[int] = []  # the longest other prefix that each one begins with
        open_ones: list[int] = []
        for place, text in enumerate(self._texts):
            while open_ones and not text.startswith(self._texts[open_ones[-1]]):
                open_ones.pop()
            self._parents.append(open_ones[-1] if open_ones else -1)
            open_ones.append(place)

    def of(self, text: str) -> list[tuple[Candidate, ...]]:
        """
        Those whose prefix this text has.

        Whatever prefixes there are of it, they are prefixes of the last one that sorts before it.
        """
        texts, parents = self._texts, self._parents
        at = bisect_right(texts, text) - 1
        while at >= 0 and not text.startswith(texts[at]):
            at = parents[at]
        found = []
        while at >= 0:
            found.append(self.filed[at])
            at = parents[at]
        return found


class Parts:
    """Rules by what a text must hold or end with, or a list have."""

    def __init__(self, field: "_FieldRules") -> None:
        self._parts = {text: tuple(found) for text, found in field.parts.items()}
        self._width = min(map(len, self._parts), default=0)
        self._beginnings: dict[str, list[str]] = {}
        for text in self._parts:
            self._beginnings.setdefault(text[: self._width], []).append(text)
        self._suffixes = Prefixes({text[::-1]: found for text, found in field.suffixes.items()})
        self.filed = tuple(field.seekers)
        self._text_seekers = tuple(field.text_seekers)

    def of(self, value: Any) -> list[tuple[Candidate, ...]]:
        """Those whose text this value ends with or holds; and those that err with such a value."""
        if isinstance(value, str):
            found = [self._parts[text] for text in self._sought(value) if text in value]
            return [*found, *self._suffixes.of(value[::-1])] if self._suffixes.filed else found
        if isinstance(value, list):
            texts = {one for one in value if isinstance(one, str)}
            found = [self._parts[text] for text in self._parts.keys() & texts]
            return [*found, self._text_seekers] if self._text_seekers else found
        return [self.filed]

    def _sought(self, value: str) -> Iterable[str]:
        """The parts that a text may hold: all, or of very many those whose beginning it has."""
        size, width, beginnings = len(value), self._width, self._beginnings
        if len(self._parts) * (size + _SEARCH_COST) < _PIECE_COST * size:
            return self._parts
        pieces = (value[at : at + width] for at in range(size - width + 1))
        seen = {piece for piece in pieces if piece in beginnings}
        return [text for piece in seen for text in beginnings[piece]]


class _FieldRules:
    """The rules filed under one field, while the index is made."""

    def __init__(self) -> None:
        self.values: dict[Any, list[Candidate]] = {}
        self.prefixes: dict[str, list[Candidate]] = {}
        self.suffixes: dict[str, list[Candidate]] = {}
        self.parts: dict[str, list[Candidate]] = {}
        self.seekers: list[Candidate] = []
        """Those under some part or ending: they err with what is neither text nor list."""
        self.text_seekers: list[Candidate] = []
        """Those of them that err with a list as well."""

    def file(self, candidate: Candidate, need: FieldNeed) -> None:
        """Under each value and beginning once, so that no event finds it twice by those."""
        for prefix in dict.fromkeys(need.prefixes):
            if not any(prefix != one and prefix.startswith(one) for one in need.prefixes):
                self.prefixes.setdefault(prefix, []).append(candidate)
        for key in dict.fromkeys(index_key(value) for value in need.values):
            if key is not None and not (key[0] == "text" and str(key[1]).startswith(need.prefixes)):
                self.values.setdefault(key, []).append(candidate)
        for suffix in dict.fromkeys(need.suffixes):
            self.suffixes.setdefault(suffix, []).append(candidate)
        for part in dict.fromkeys(need.parts):
            self.parts.setdefault(part, []).append(candidate)
        if need.suffixes or need.parts:
            self.seekers.append(candidate)
            if need.suffixes or need.prefixes:
                self.text_seekers.append(candidate)


class Index:
    """The candidates of an event among some rules, in file order."""

    def __init__(self, candidates: Sequence[Candidate], variables: Scope | None = None) -> None:
        needs = [index_needs(candidate.rule.match, variables or {}) for candidate in candidates]
        sharing = Counter(entry for each in needs for need in each for entry in _entries(need))
        always: list[Candidate] = []
        filed: dict[tuple[str, ...], _FieldRules] = {}
        for candidate, each in zip(candidates, needs, strict=True):
            if not each:
                always.append(candidate)
                continue
            best = min(each, key=lambda need: sum(sharing[entry] for entry in _entries(need)))
            filed.setdefault(best.path, _FieldRules()).file(candidate, best)
        self.always = tuple(always)  # those that no field rules out
        self._filed = tuple(
            (
                path,
                {key: tuple(found) for key, found in field.values.items()},
                Prefixes(field.prefixes) if field.prefixes else None,
                Parts(field) if field.seekers else None,
            )
            for path, field in filed.items()
        )
        self.empty = not candidates

    def candidates(self, scope: Scope) -> Sequence[Candidate]:
        """
        The rules that may match this scope. A tuple is one that later events get again; a list
        was made for this one.
        """
        found = [self.always] if self.always else []
        repeated = False
        for path, buckets, prefixes, parts in self._filed:
            value: Any = scope
            for name in path:
                value = value.get(name) if value.__class__ is dict else None
            if buckets and (hits := buckets.get(index_key(value))):
                found.append(hits)
            if prefixes is not None and isinstance(value, str):
                found += prefixes.of(value)
            if parts is not None and (held := parts.of(value)):
                found += held
                repeated = True
        if len(found) < 2:
            return found[0] if found else ()
        every = chain.from_iterable(found)
        return sorted({c.place: c for c in every}.values() if repeated else every, key=place)

    def filing(self) -> dict[int, tuple[str, ...]]:
        """For `explain`: the path by which each filed rule is found, by its place."""
        return {
            candidate.place: path
            for path, buckets, prefixes, parts in self._filed
            for bucket in (
                *buckets.values(),
                *(prefixes.filed if prefixes else ()),
                parts.filed if parts else (),
            )
            for candidate in bucket
        }


def candidates_of(rules: Iterable[CompiledRule]) -> list[Candidate]:
    """Rules with their places and conditions, compiled here and now rather than at first use."""
    return [Candidate(i, rule, judge_of(rule)) for i, rule in enumerate(rules)]


place: Callable[[Candidate], int] = attrgetter("place")
"""Where in the file it stands."""


def judge_of(rule: CompiledRule) -> Judge | None:
    """All conditions of a rule as one call: one false makes it false, even beside an error."""
    return as_one(rule.match).verdict if rule.match else None


def as_one(conditions: Sequence[Condition]) -> Expression:
    """Items of `match` as the one expression that is true if all of them are."""
    if len(conditions) == 1 and conditions[0].test is not None:
        return conditions[0].test
    return Expression("", Node("and", 0, 0, None, tuple(map(_tree, conditions))))


def _tree(condition: Condition) -> Node:
    if condition.test is not None:
        return condition.test.tree
    if condition.negate is not None:
        return Node("not", 0, 0, None, (_tree(condition.negate),))
    return Node("or", 0, 0, None, tuple(map(_tree, condition.any_of or ())))


def index_needs(conditions: Sequence[Condition], variables: Scope) -> list[FieldNeed]:
    """All that an index may look for, of items of `match`; variables are known."""
    found = needs_of(as_one(conditions), variables)
    return [need for need in found if need.path[0] not in _UNREADABLE]


def _entries(need: FieldNeed) -> list[tuple[tuple[str, ...], Any]]:
    keys: list[Any] = [index_key(value) for value in need.values]
    keys += [("prefix", text) for text in need.prefixes]
    keys += [("suffix", text) for text in need.suffixes]
    keys += [("part", text) for text in need.parts]
    return [(need.path, key) for key in keys]
