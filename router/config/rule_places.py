"""Where a part of a compiled rule stands in the file."""

from collections.abc import Iterable

from router.config.context import LoadContext
from router.config.rule_schema import ConditionEntry, RuleEntry
from router.config.rule_types import RuleTexts
from router.rules.mutants import MutantPlace
from router.yaml_source import Node, SourceText


class RulePlaces:
    """The places of the rules of one load, by their ids."""

    def __init__(self, context: LoadContext, rules: Iterable[RuleTexts]) -> None:
        self._context = context
        self._entries = {texts.rule.id: texts.entry for texts in rules}

    def of(self, rule: str, place: MutantPlace) -> tuple[str, int, int]:
        """File, line and column, both from 1."""
        found = _found(self._entries[rule], place)
        if isinstance(found, SourceText):
            start, _ = self._context.span(found, (place.offset, place.offset + 1))
        else:
            start = found.start
        source = self._context.report.source
        return (source.path_at(start), *source.position(start))


def _found(entry: RuleEntry, place: MutantPlace) -> SourceText | Node:
    """The text that the place is in, or the key."""
    if place.key == "events" and place.way and entry.events:
        return entry.events[place.way[0]]
    if place.key == "match" and entry.match:
        return _condition(entry.match[place.way[0]], place.way[1:])
    if place.key == "when" and entry.actions:
        action = entry.actions[place.way[0]]
        return action.when or action.node  # a shared one has it elsewhere
    return entry.key_at(place.key)


def _condition(entry: ConditionEntry, way: tuple[int, ...]) -> SourceText | Node:
    for step in way:
        inner = entry.negated or (entry.any_of[step] if entry.any_of else None)
        if inner is None:
            break
        entry = inner
    return entry.test or entry.node
