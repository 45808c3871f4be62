"""Checks of the commands of `shell` actions."""

from collections.abc import Iterator

from router.config.checks.base import CompiledFile, Found
from router.config.kinds.shell import ShellEntry
from router.config.rule_types import RuleTexts
from router.expressions import Expression
from router.expressions.nodes import path_of
from router.kinds.shell import ShellSpec
from router.typing.infer import value_type
from router.typing.lattice import TEXT, Type

_SAFE_ROOTS = frozenset(
    {"event", "action", "topic", "endpoint", "provider", "delivery", "shop", "repository", "var"}
)
_SAFE_FORMATS = frozenset({"timestamp", "date", "url", "ip", "money"})
_SAFE_FUNCTIONS = frozenset({"sha256", "base64", "date", "now", "to_string"})
_SAFE_NAMES = (
    "id",
    "sha",
    "after",
    "before",
    "ref",
    "full_name",
    "uuid",
    "url",
    "_at",
    "number",
    "status",
)
"""Ends of names whose values begin with a letter or a digit."""


def arguments_like_options(file: CompiledFile) -> Found:
    """Arguments that an event could make an option: such a job is dead when it runs."""
    for texts, entry, spec in _commands(file):
        arguments = zip(entry.argv or (), spec.argv or (), strict=True)
        next(arguments, None)  # the program
        for text, template in arguments:
            if template.text == "--":
                break
            if template.whole is not None and not never_dashed(file, texts, template.whole):
                yield (
                    text,
                    "this argument is all the event's: if it begins with '-', the job is dead",
                    'put "--" before it, for the program to take what follows as no option',
                )


def _commands(file: CompiledFile) -> Iterator[tuple[RuleTexts, ShellEntry, ShellSpec]]:
    for texts, given, action in file.actions:
        if isinstance(given, ShellEntry) and isinstance(action.spec, ShellSpec):
            yield texts, given, action.spec


def never_dashed(file: CompiledFile, texts: RuleTexts, expression: Expression) -> bool:
    """Whether its value begins with no `-`, by its name or by its type for all of these events."""
    tree = expression.tree
    if tree.kind == "call" and tree.value in _SAFE_FUNCTIONS:
        return True
    path = path_of(tree)
    names = () if path is None else path[1]
    if names and (names[0] in _SAFE_ROOTS or str(names[-1]).lower().endswith(_SAFE_NAMES)):
        return True
    scenes = file.scenes.of(texts.senders, texts.rule.events)
    return bool(scenes) and all(
        _safe(value_type(expression, scene.roots, scene.clues)[0]) for scene in scenes
    )


def _safe(kind: Type) -> bool:
    if not kind.kinds & TEXT or kind.format in _SAFE_FORMATS or kind.known:
        return True
    return kind.texts is not None and not any(text.startswith("-") for text in kind.texts)
