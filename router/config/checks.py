"""
Checks of a whole rules file: a function each, and a row each in CHECKS.

A check looks at a file that has been read and compiled, and yields what it finds: where, what is
wrong, and how to mend it. Its row holds its code, what the code says, and when it runs. To add one:
write the function and its row here, and `bad.yaml` and `good.yaml` in `tests/golden/codes/CODE/`;
`GOLDEN=write pytest -n0 tests/golden/test_codes.py` then makes its page and its line in
docs/diagnostics.md. What one key alone shows is found where that key is compiled.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from router.config.context import LoadContext
from router.config.rule_types import RuleTexts
from router.config.schema import ConditionEntry, RuleEntry
from router.errors import Severity
from router.model.patterns import wildcard
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledRule
from router.yaml_source import Node, SourceText

Place = Node | SourceText
Found = Iterator[tuple[Place, str] | tuple[Place, str, str]]
"""Where, what is wrong, and how to mend it where that is not plain."""


class CompiledFile(msgspec.Struct, frozen=True):
    """
    A file that has been read and compiled. `constant` are the conditions that are always true, by
    identity.
    """

    context: LoadContext
    rules: Sequence[RuleTexts]
    constant: frozenset[int]
    ruleset: Ruleset

    @property
    def entries(self) -> list[RuleEntry]:
        """The rules as they are written."""
        return self.context.file.rules or []


class FileCheck(msgspec.Struct, frozen=True):
    """
    One check. It runs `always`, even on a file with errors, or on one without (`right`), at every
    load. `meant`: see `codes.Code`.
    """

    code: str
    about: str
    run: Callable[[CompiledFile], Found]
    when: Literal["always", "right"] = "always"
    severity: Severity = "error"
    meant: bool | None = None


def run_checks(file: CompiledFile, when: str) -> None:
    """Report what the checks find that run now."""
    for check in CHECKS:
        if check.when == when:
            for place, message, *hint in check.run(file):
                report = file.context.error if check.severity == "error" else file.context.warning
                report(check.code, message, place, *hint)


# -- rules ----------------------------------------------------------------------------------------


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
        or ("*" not in pattern and wildcard(other, pattern))
        or (dot and "*" not in name and wildcard(other, name))
        for other in others
    )


# -- names ----------------------------------------------------------------------------------------


def define_cycles(file: CompiledFile) -> Found:
    """Depth first without recursion; a definition on the path from itself is said once."""
    table, found = file.context.file.define, file.ruleset.defines
    done: set[str] = set()
    for start in found:
        path: dict[str, None] = {}
        pending: list[tuple[str, bool]] = [(start, False)]
        while pending:
            name, leaving = pending.pop()
            if leaving:
                del path[name]
                done.add(name)
            elif name in path and table is not None:
                circle = [*list(path)[list(path).index(name) :], name]
                shown = " -> ".join(circle[:8]) + (" …" if len(circle) > 8 else "")
                yield table.items[name][0], f"the definition '{name}' needs itself: {shown}"
            elif name not in done:
                path[name] = None
                used = sorted(field for root, field in found[name].uses if root == "def")
                pending += [(name, True), *((one, False) for one in used if one in found)]


def unused_secrets(file: CompiledFile) -> Found:
    """Secrets that nothing refers to."""
    return (
        (name, f"the secret '{name.shown}' is used nowhere")
        for name, _ in file.context.file.secrets or ()
        if name.value not in file.context.used_secrets
    )


def unused_targets(file: CompiledFile) -> Found:
    """Targets that no action calls."""
    used = {action.target for rule in file.ruleset.rules for action in rule.actions}
    return (
        (name, f"no action calls the target '{name.shown}'")
        for name, _ in file.context.file.targets or ()
        if name.value not in used
    )


CHECKS = (
    FileCheck("define-cycle", "A definition needs itself.", define_cycles),
    FileCheck("duplicate-rule", "Two rules have the same id.", duplicate_rules),
    FileCheck(
        "otherwise-with-match",
        "`otherwise` and `match` exclude each other.",
        otherwise_with_match,
    ),
    FileCheck(
        "never-matches", "An empty list means that the rule could never match.", never_matching
    ),
    FileCheck(
        "empty-match",
        "`match` is an empty list: the rule would take every event.",
        empty_matches,
    ),
    FileCheck("no-actions", "A rule has an empty list of actions.", without_actions),
    FileCheck(
        "unreachable-otherwise",
        "An `otherwise` rule can never run, because another rule always matches.",
        unreachable_rules,
        severity="warning",
    ),
    FileCheck("unused-secret", "A secret is used nowhere.", unused_secrets, "right", "warning"),
    FileCheck(
        "unused-target", "A target is used by no action.", unused_targets, "right", "warning"
    ),
)
