"""Checks of rules as wholes: what they take, and one beside another."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.config.rule_schema import ConditionEntry
from router.config.rules import ALL
from router.model.patterns import wildcard
from router.rules.redacting import lost, reads
from router.rules.specs import CompiledRule
from router.typing.scenes import TypedSender
from router.yaml_source import SourceText

_BEFORE_STORED = frozenset({"'match'", "'group'"})
"""Places that are read as a delivery comes in, before anything is stored."""


def duplicate_rules(file: CompiledFile) -> Found:
    """Two rules of one id."""
    first: dict[str, int] = {}
    for name in (entry.id for entry in file.entries if entry.id is not None):
        start = first.setdefault(name.value, name.node.start)
        if start != name.node.start:
            where = file.context.report.source.where(start, name.node.start)
            yield name, f"the rule id '{name.shown}' is taken by the rule in {where}"


def otherwise_with_match(file: CompiledFile) -> Found:
    """A condition that nothing else may meet."""
    message = "'otherwise' runs when nothing else matched, so it cannot have a 'match'"
    return ((e.key_at("match"), message) for e in file.entries if e.otherwise and e.match)


def empty_matches(file: CompiledFile) -> Found:
    """Conditions that are none."""
    message = "'match' holds no condition, so this rule would take every event"
    return (
        (entry.key_at("match"), message, "leave it out if that is meant")
        for entry in file.entries
        if entry.match == [] and "match" not in entry.broken
    )


def never_matching(file: CompiledFile) -> Found:
    """Lists of which one item would be needed, and that have none."""
    for entry in file.entries:
        for key, value in (("from", entry.sources), ("events", entry.events)):
            if value == []:
                yield entry.key_at(key), f"'{key}' is an empty list, so this rule can never match"
        for condition in _conditions(entry.match or []):
            if condition.any_of == []:
                yield condition.key_at("any"), "'any' of nothing is never true"


def _conditions(entries: list[ConditionEntry]) -> Iterator[ConditionEntry]:
    for entry in entries:
        yield entry
        yield from _conditions([*(entry.any_of or ()), *([entry.negated] if entry.negated else ())])


def without_actions(file: CompiledFile) -> Found:
    """Rules that would do nothing."""
    return (
        (entry.key_at("actions"), "this rule has no actions")
        for entry in file.entries
        if entry.actions == [] and "actions" not in entry.broken
    )


def unreachable_rules(file: CompiledFile) -> Found:
    """`otherwise` rules whose every event some live rule of the endpoint takes, and which."""
    rules = [(one.entry, one.rule) for one in file.rules]
    takers: dict[str, list[CompiledRule]] = {}
    for entry, rule in rules:
        # One for `all` endpoints does not count.
        if rule.mode != "live" or rule.otherwise or "match" in entry.broken:
            continue
        if all(id(condition) in file.constant for condition in entry.match or ()):
            for endpoint in rule.sources or ():
                takers.setdefault(endpoint, []).append(rule)
    for entry, rule in rules:
        if rule.otherwise and rule.sources and takers:
            each = [
                next((taker.id for taker in takers.get(name, ()) if _covers(taker, rule)), None)
                for name in rule.sources
            ]
            if None not in each:
                names = ", ".join(f"'{name}'" for name in dict.fromkeys(each))
                yield (
                    entry.key_at("otherwise"),
                    f"this rule can never run, because {names} always matches",
                )


def _covers(taker: CompiledRule, rule: CompiledRule) -> bool:
    """Whether the one takes every event that the other names."""
    if taker.events is None or rule.events is None:
        return taker.events is None or "*" in taker.events
    return all(_within(pattern, taker.events) for pattern in rule.events)


def _within(pattern: str, others: Iterable[str]) -> bool:
    name, dot, _ = pattern.partition(".")
    return any(
        other in (pattern, "*")
        or wildcard(other, pattern)  # the `*` of a pattern fits only another's `*`
        or (dot and "*" not in name and wildcard(other, name))
        for other in others
    )


def listed_twice(file: CompiledFile) -> Found:
    """Endpoints and events that another one of the same list has already."""
    for texts in file.rules:
        yield from _twice(texts.entry.sources or (), lambda _, other: other == ALL)
        yield from _twice(texts.entry.events or (), partial(_part_of, texts.senders))


def _part_of(senders: Iterable[TypedSender], one: str, other: str) -> bool:
    """Whether all that a name or pattern fits is fitted by the other."""
    name, dot, _ = one.partition(".")
    of_action = dot and other == name and any(sender.events.get(name) for sender in senders)
    return bool(of_action) or wildcard(other, one)


def _twice(listed: Sequence[SourceText], within: Callable[[str, str], bool]) -> Found:
    for at, text in enumerate(listed) if len(listed) > 1 else ():
        others = [one.value for i, one in enumerate(listed) if i != at]
        if text.value in others:
            if text.value in others[:at]:
                yield text, f"'{text.shown}' is listed twice"
        elif (whole := next((one for one in others if within(text.value, one)), None)) is not None:
            yield text, f"'{text.shown}' is part of '{whole}', which is in the list too"


def never_stored(file: CompiledFile) -> Found:
    """Actions, and their conditions, that read a field of which nothing is ever written."""
    redacting = [(e.name, e.redact) for e in file.ruleset.endpoints.values() if e.redact]
    for name, redact in redacting:
        for texts in file.rules if redact.when == "stored" else ():
            for written in texts.written if texts.rule.takes(name) else ():
                if written.place in _BEFORE_STORED:
                    continue
                for expression, base in written.expressions:
                    read = reads(expression.tree, file.ruleset.defines)
                    for field, path in zip(redact.fields, redact.paths, strict=True):
                        if lost([path], read):
                            yield (
                                TextSpan(written.text, base, base + len(expression.text)),
                                f"'{field}' of '{name}' is never stored, so no action can read it",
                                "read it in 'match', or write 'when: done' beside its 'redact'",
                            )
