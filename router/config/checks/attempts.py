"""Checks of time and outcome: delays that never come, results that an action cannot see."""

from collections.abc import Iterator
from functools import cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.config.rule_schema import RetryEntry
from router.expressions.nodes import Node, path_of, walk
from router.kinds import KINDS
from router.kinds.http import HttpSpec
from router.model.retry import AGE_LIMIT_MS
from router.rules.specs import CompiledAction
from router.yaml_source import Sequence

_COMPARE = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_STATUSES = range(100, 600)
_EXITS = range(256)


def delays_beyond_age(file: CompiledFile) -> Found:
    """Delays that no job lives to see: the first of each schedule."""
    for entry in _policies(file):
        total = 0
        node = entry.at("schedule")
        for at, delay in enumerate(entry.schedule or ()):
            total += delay
            if total > AGE_LIMIT_MS:
                yield (
                    node.items[at] if isinstance(node, Sequence) else node,
                    "from here on nothing is tried: all delays together are at most 7 days",
                )
                break


def _policies(file: CompiledFile) -> Iterator[RetryEntry]:
    rules = file.entries
    given = [entry for _, entry in file.context.file.retries or ()]
    given += [rule.retry for rule in rules if rule.retry]
    given += [action.retry for rule in rules for action in rule.actions or () if action.retry]
    given += [action.retry for _, action in file.context.file.actions or () if action.retry]
    yield from given


def answers_too_late(file: CompiledFile) -> Found:
    """A time limit of our answers that a sender does not wait for."""
    server = file.context.file.server
    limits = server.limits if server else None
    if limits is None or limits.answer is None:
        return
    for name, endpoint in file.ruleset.addressed.items():
        provider = file.ruleset.providers.get(endpoint.provider)
        waits = provider.ack_within_s if provider else None
        if waits is not None and limits.answer > waits * 1_000:
            yield (
                limits.at("answer"),
                f"the sender behind '{name}' waits {waits:g} s for an answer, not so long",
                "it would send again what has been accepted",
            )
            return


def results_never_seen(file: CompiledFile) -> Found:
    """Comparisons of a status or exit code that the awaited action cannot have ended with."""
    for texts in file.rules:
        actions = {action.id: action for action in texts.rule.actions}
        for entry, action in zip(texts.entry.actions or (), texts.rule.actions, strict=True):
            if action.when is None or entry.when is None:
                continue
            for node, _, _ in walk(action.when.tree):
                if (found := _never(node, action, actions)) is not None:
                    yield TextSpan(entry.when, node.start, node.end), *found


def _never(
    node: Node, action: CompiledAction, actions: dict[str, CompiledAction]
) -> tuple[str, str] | None:
    """What is wrong with a comparison, and how to mend it."""
    if (read := _comparison(node)) is None:
        return None
    name, field, operator, number = read
    wants = next((need.wants for need in action.after if need.action == name), None)
    before = actions.get(name)
    if before is None or wants not in ("succeeded", "dead"):
        return None
    succeeded, others = _codes(before, field)
    left = succeeded if wants == "succeeded" else others
    if not left or any(_COMPARE[operator](code, number) for code in left):
        return None
    if wants == "dead":
        return (
            f"this never holds: '{name}' is dead here, so its {field} is none of success",
            f"with {{{name}: ended}} it runs in either case",
        )
    accepted = "what 'accept' lets in, 2xx if left out" if field == "status" else "0"
    return (
        f"this never holds: '{name}' has succeeded here, so its {field} is {accepted}",
        f"to run after a failure write `after: {{{name}: dead}}`, or `ended` for both",
    )


def _comparison(node: Node) -> tuple[str, str, str, Any] | None:
    """`results.NAME.FIELD` beside a number: name, field, operator, number."""
    if node.kind != "compare":
        return None
    left, right = node.children
    operator = node.value
    if left.kind == "literal":
        left, right, operator = right, left, _TURNED.get(operator, operator)
    path = path_of(left)
    if path is None or right.kind != "literal" or isinstance(right.value, bool):
        return None
    keys = path[1]
    if len(keys) != 3 or keys[0] != "results" or not isinstance(right.value, int | float):
        return None
    return str(keys[1]), str(keys[2]), operator, right.value


def _codes(action: CompiledAction, field: str) -> tuple[list[int], list[int]]:
    """The codes that an action can succeed with, and those that it can fail with."""
    if KINDS[action.kind].result.code != field:
        return [], []
    if isinstance(action.spec, HttpSpec):
        return _split(_STATUSES, action.spec.accept)
    return _split(_EXITS, ((0, 0),))


@cache
def _split(every: range, good: tuple[tuple[int, int], ...]) -> tuple[list[int], list[int]]:
    inside = {code for low, high in good for code in range(low, high + 1)}
    return [code for code in every if code in inside], [c for c in every if c not in inside]
