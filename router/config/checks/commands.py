"""Checks of the commands of `shell` actions."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from router.config.checks.base import CompiledFile, Found
from router.config.kinds.shell import ShellEntry
from router.config.rule_types import RuleTexts
from router.expressions import Expression
from router.expressions.nodes import path_of
from router.kinds.shell import ShellSpec
from router.typing.infer import value_type
from router.typing.lattice import TEXT, Type
from router.yaml_source import shown

_SAFE_ROOTS = frozenset(
    {"event", "action", "topic", "endpoint", "provider", "delivery", "shop", "repository", "var"}
)
_SAFE_FORMATS = frozenset({"timestamp", "date", "url", "ip", "money"})
_SAFE_FUNCTIONS = frozenset({"sha256", "base64", "date", "now", "to_string"})
_OPTION_WITH_VALUE = re.compile(r"--[a-z][a-z0-9-]*[ ]+(?=\S)")
_OPERATORS = frozenset({"|", "||", "&&", ">", ">>", "<", "2>", "2>>", "&>"})
_JOINED = frozenset({"2>&1", "1>&2", ">&2", "2>/dev/null", ">/dev/null"})
_WITH_OPERATORS = frozenset({"expr", "test", "[", "ssh", "watch", "parallel"})
"""Programs to which such a sign means something."""
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


def options_with_values(file: CompiledFile) -> Found:
    """`--name value` in one word, which no program takes for two."""
    for _, entry, _ in _commands(file):
        for text in (entry.argv or [])[1:]:
            if (found := _OPTION_WITH_VALUE.match(text.value)) is not None:
                option, value = found[0].strip(), text.value[found.end() :]
                yield (
                    text,
                    f"'{text.shown}' is one argument, its blank included",
                    f"write two: {option}, {shown(value)}",
                )


def shell_operators(file: CompiledFile) -> Found:
    """`|` and `>` as arguments: no shell reads them, so the program is given them."""
    for _, entry, _ in _commands(file):
        words = [text.value for text in entry.argv or ()]
        if not words or PurePath(words[0]).name in _WITH_OPERATORS:
            continue
        for at, text in enumerate(entry.argv or ()):
            first = 1 if text.value in ("&&", "||") else 2
            between = first <= at < len(words) - 1 and not words[at - 1].startswith("-")
            if text.value in _JOINED or (text.value in _OPERATORS and between):
                yield (
                    text,
                    f"no shell reads this: '{words[0]}' is given '{text.value}' and what follows",
                    "write a 'script', with values of the event in 'env'",
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
