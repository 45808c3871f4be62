"""Which rules want an event: by endpoint and event from a hash, by index, then by condition."""

from collections.abc import Mapping
from typing import Any

import msgspec

from router.rules.index import Index
from router.rules.patterns import wants_event
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledRule

_INDEXES_MAX = 4_096


class Matches(msgspec.Struct, frozen=True):
    """
    The rules that one event matched, in file order, and those that erred (rule id, reason).

    `shadow` rules matched but never act; `paused` ones make waiting jobs.
    """

    live: tuple[CompiledRule, ...]
    shadow: tuple[CompiledRule, ...]
    paused: tuple[CompiledRule, ...]
    errors: tuple[tuple[str, str], ...]


class Wanting(msgspec.Struct, frozen=True):
    """The rules whose head (`from`, `events`) names an event: conditional, and `otherwise`."""

    rules: Index
    otherwise: Index


class Matcher:
    """Answers for one ruleset; remembers an index for each (endpoint, event, action) it meets."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._by_endpoint: dict[str, tuple[CompiledRule, ...]] = {
            name: tuple(r for r in ruleset.rules if r.sources is None or name in r.sources)
            for name in ruleset.endpoints
        }
        self._indexes: dict[tuple[str, str, str | None], Wanting] = {}

    def wanting(self, endpoint: str, event: str, action: str | None) -> Wanting:
        """The rules whose head names this event."""
        key = (endpoint, event, action)
        found = self._indexes.get(key)
        if found is None:
            found = self._collect(key)
            if len(self._indexes) < _INDEXES_MAX:  # event names are the sender's: keep a bound
                self._indexes[key] = found
        return found

    def match(
        self, endpoint: str, event: str, action: str | None, scope: Mapping[str, Any]
    ) -> Matches:
        """Every rule that matches; a rule that errs does not match and touches no other."""
        wanting = self.wanting(endpoint, event, action)
        hits: list[CompiledRule] = []
        errors: list[tuple[str, str]] = []
        _judge(wanting.rules, scope, hits, errors)
        # `from: all` rules do not name the endpoint, so they do not keep `otherwise` quiet.
        if not wanting.otherwise.empty and not any(
            r.mode == "live" and r.sources is not None for r in hits
        ):
            _judge(wanting.otherwise, scope, hits, errors)
        return _sorted_by_mode(hits, errors)

    def _collect(self, key: tuple[str, str, str | None]) -> Wanting:
        endpoint, event, action = key
        wanted = [
            r for r in self._by_endpoint.get(endpoint, ()) if wants_event(r.events, event, action)
        ]
        return Wanting(
            Index(r for r in wanted if not r.otherwise),
            Index(r for r in wanted if r.otherwise),
        )


def _judge(
    index: Index,
    scope: Mapping[str, Any],
    hits: list[CompiledRule],
    errors: list[tuple[str, str]],
) -> None:
    for candidate in index.candidates(scope):
        result = True if candidate.judge is None else candidate.judge(scope)
        if result is True:
            hits.append(candidate.rule)
        elif result is not False:
            errors.append((candidate.rule.id, result.reason))


def _sorted_by_mode(hits: list[CompiledRule], errors: list[tuple[str, str]]) -> Matches:
    if not hits and not errors:
        return _NONE
    return Matches(
        tuple(r for r in hits if r.mode == "live"),
        tuple(r for r in hits if r.mode == "shadow"),
        tuple(r for r in hits if r.mode == "paused"),
        tuple(errors),
    )


_NONE = Matches((), (), (), ())
