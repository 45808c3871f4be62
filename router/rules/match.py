"""Which rules want an event: by endpoint and event from a hash, by index, then by condition."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from router.model.patterns import event_names, wants_event
from router.rules.index import Candidate, Index, candidates_of, place
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledRule

_KNOWN_MAX = 16_384


class Matches(msgspec.Struct, frozen=True):
    """
    The rules that one event matched, in file order, and those that erred (rule id, reason).

    `shadow` rules matched but never act; `paused` ones make waiting jobs. `evaluated` are the rules
    that were, in one or more pieces; a tuple among them is one that other events share.
    """

    live: tuple[CompiledRule, ...]
    shadow: tuple[CompiledRule, ...]
    paused: tuple[CompiledRule, ...]
    errors: tuple[tuple[str, str], ...]
    evaluated: tuple[Sequence[Candidate], ...] = ()


class Wanting(msgspec.Struct, frozen=True):
    """
    The rules that an event's name lets in: those that take every event of the endpoint, and
    those that name this one.
    """

    every: Index
    named: Index

    def candidates(self, scope: Mapping[str, Any]) -> Sequence[Candidate]:
        """Those that may match, in file order."""
        if self.named.empty:
            return self.every.candidates(scope)
        if self.every.empty:
            return self.named.candidates(scope)
        every, named = self.every.candidates(scope), self.named.candidates(scope)
        if not (every and named):
            return every or named
        return sorted((*every, *named), key=place)


class CandidateRules:
    """Some rules of one endpoint, ready for any event's name."""

    def __init__(
        self, candidates: Sequence[Candidate], variables: Mapping[str, Any] | None = None
    ) -> None:
        self._variables = variables
        self._every = Index([c for c in candidates if c.rule.events is None], variables)
        self.exact: dict[str, list[Candidate]] = {}
        """The rules by each name that they write out."""
        self._globs: list[Candidate] = []
        for candidate in candidates:
            for pattern in dict.fromkeys(candidate.rule.events or ()):
                if "*" in pattern:
                    self._globs.append(candidate)
                else:
                    self.exact.setdefault(pattern, []).append(candidate)
        self._nobody = Wanting(self._every, Index([]))

    def by(self, names: tuple[str, ...], action: str | None) -> Wanting:
        """The rules whose `events` let in an event of these names."""
        found: dict[int, Candidate] = {}
        for event in names:
            full = f"{event}.{action}" if action else event
            globs = (c for c in self._globs if wants_event(c.rule.events, event, action))
            exact = (*self.exact.get(event, ()), *self.exact.get(full, ()))
            found |= {c.place: c for c in (*exact, *globs)}
        if not found:
            return self._nobody
        return Wanting(self._every, Index(sorted(found.values(), key=place), self._variables))


class Matcher:
    """
    Answers for one ruleset.

    Conditions are compiled and indexes built when it is made, off the event loop: a first
    delivery waits for neither. Events that no rule writes out get theirs when they first come.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        candidates = candidates_of(ruleset.rules)
        self._places = {c.rule.id: c.place for c in candidates}
        self._endpoints: dict[str, tuple[CandidateRules, CandidateRules]] = {}
        for name in ruleset.endpoints:
            mine = [c for c in candidates if c.rule.takes(name)]
            usual, otherwise = (
                CandidateRules([c for c in mine if c.rule.otherwise is rest], ruleset.variables)
                for rest in (False, True)
            )
            self._endpoints[name] = (usual, otherwise)
        self._known: dict[tuple[str, str, str | None], tuple[Wanting, Wanting]] = {}
        for name, both in self._endpoints.items():
            for written in (*both[0].exact, *both[1].exact):
                self.wanting(name, written, None)
                event, dot, action = written.partition(".")
                if dot:
                    self.wanting(name, event, action)

    def wanting(self, endpoint: str, event: str, action: str | None) -> tuple[Wanting, Wanting]:
        """The rules whose head names this event: the usual ones, and the `otherwise` ones."""
        key = (endpoint, event, action)
        found = self._known.get(key)
        if found is None:
            usual, otherwise = self._endpoints.get(endpoint, _NOWHERE)
            names = event_names(endpoint, event)
            found = usual.by(names, action), otherwise.by(names, action)
            if len(self._known) < _KNOWN_MAX:  # event names are the sender's: keep a bound
                self._known[key] = found
        return found

    def match(
        self, endpoint: str, event: str, action: str | None, scope: Mapping[str, Any]
    ) -> Matches:
        """Every rule that matches; a rule that errs does not match and touches no other."""
        usual, otherwise = self.wanting(endpoint, event, action)
        hits: list[CompiledRule] = []
        errors: list[tuple[str, str]] = []
        first = usual.candidates(scope)
        pieces: tuple[Sequence[Candidate], ...] = (first,) if first else ()
        _judge(first, scope, hits, errors)
        rest = otherwise.candidates(scope)
        # `from: all` rules do not name the endpoint, so they do not keep `otherwise` quiet.
        if rest and not any(r.mode == "live" and r.sources is not None for r in hits):
            pieces = (*pieces, rest)
            usual_hits = len(hits)
            _judge(rest, scope, hits, errors)
            if 0 < usual_hits < len(hits):
                hits.sort(key=lambda rule: self._places[rule.id])
        return _sorted_by_mode(hits, errors, pieces)


_NOWHERE = (CandidateRules([]), CandidateRules([]))


def _judge(
    candidates: Sequence[Candidate],
    scope: Mapping[str, Any],
    hits: list[CompiledRule],
    errors: list[tuple[str, str]],
) -> None:
    for candidate in candidates:
        result = True if candidate.judge is None else candidate.judge(scope)
        if result is True:
            hits.append(candidate.rule)
        elif result is not False:
            errors.append((candidate.rule.id, result.reason))


def _sorted_by_mode(
    hits: list[CompiledRule],
    errors: list[tuple[str, str]],
    evaluated: tuple[Sequence[Candidate], ...],
) -> Matches:
    if not hits and not errors:
        return Matches((), (), (), (), evaluated) if evaluated else _NONE
    live = tuple([rule for rule in hits if rule.mode == "live"])
    if len(live) == len(hits):  # as usual
        return Matches(live, (), (), tuple(errors), evaluated)
    shadow, paused = (tuple([r for r in hits if r.mode == mode]) for mode in ("shadow", "paused"))
    return Matches(live, shadow, paused, tuple(errors), evaluated)


_NONE = Matches((), (), (), ())
