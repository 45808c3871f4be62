"""Checks of what `shell` actions run: arguments that may be options, variables nobody sets."""

from collections.abc import Iterator
from pathlib import PurePath

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.config.checks.script_variables import variables_used
from router.config.kinds.shell import SHELL_NAME, ShellEntry, code_argument
from router.config.rule_types import RuleTexts
from router.expressions import Expression
from router.expressions.nodes import path_of
from router.kinds.shell import CHILD_VARIABLES, WEBHOOK_VARIABLES, ShellSpec
from router.suggest import did_you_mean
from router.typing.infer import value_type
from router.typing.lattice import TEXT, Type
from router.yaml_source import SourceText

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


def variables_not_given(file: CompiledFile) -> Found:
    """Variables of a shell's script that neither the action nor the script itself sets."""
    for _, script, spec in scripts_of(file):
        given = {name for name, _ in (*spec.env, *spec.files)}
        given |= {*spec.pass_env, *CHILD_VARIABLES, *WEBHOOK_VARIABLES}
        for name, start, end in variables_used(script.value):
            if name not in given:
                yield (
                    TextSpan(script, start, end),
                    f"nothing gives the script a variable '{name}'",
                    did_you_mean(name, sorted(given)) or f"hand it over in 'env', as {name}",
                )


def scripts_of(file: CompiledFile) -> Iterator[tuple[tuple[str, ...], SourceText, ShellSpec]]:
    """What shells read, a script or the argument behind `-c`, and the words that start them."""
    for _, entry, spec in _commands(file):
        words = [text.value for text in entry.argv or ()] or list(spec.interpreter)
        script = entry.script or code_argument(entry.argv or [])
        if script is not None and SHELL_NAME.fullmatch(PurePath(words[0]).name):
            yield (tuple(words) if entry.script else (words[0],)), script, spec
