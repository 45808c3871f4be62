"""A rule checked as if it stood in a rules file, without the time that its other rules take."""

import re
from collections.abc import Iterator

import msgspec
import yaml

from router.config.files import KeptFiles
from router.config.loading import load
from router.config.yaml_json import yaml_json
from router.errors import Diagnostic
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledRule

_LEFT_OUT = frozenset({"rules", "tests", "actions", "targets"})
_SECTION = re.compile(r"^(?=[\"']?([\w-]+)[\"']?[ \t]*:)", re.MULTILINE)
_FILE = "rule"
_BLOCK = "      "
_NAME = re.compile(r"[a-z][a-z0-9_/.-]*")


class RuleText(msgspec.Struct, frozen=True):
    """
    A rule as it stands below `rules:`. Its condition begins in the `line` of the text, counted from
    0, each of its lines behind `indent` characters.
    """

    text: str
    line: int
    indent: int


class CheckedCondition(msgspec.Struct, frozen=True):
    """
    What `router check` says of a condition, the most certain first, each as a place in the
    condition's own text. `rule` is None if anything is an error.
    """

    rule: CompiledRule | None
    found: tuple[Diagnostic, ...]


def rule_text(id_: str, *, endpoint: str, event: str, condition: str) -> RuleText:
    """A rule of these that logs what it matched; an empty condition: it has none."""
    names = (("  - id", id_), ("    from", endpoint), ("    events", event))
    lines = [f"{key}: {_word(value)}" for key, value in names]
    at = len(lines)
    if condition and _is_plain(condition):
        place = (at, len("    match: "))
        lines.append(f"    match: {condition}")
    elif condition:
        place = (at + 1, len(_BLOCK))
        lines += ["    match: |2-", *(_BLOCK + line for line in condition.split("\n"))]
    else:
        place = (at, 0)
    lines.append('    actions: {log: "{{ event }} came to {{ endpoint }}"}')
    return RuleText("\n".join(lines) + "\n", *place)


def check_rule(ruleset: Ruleset, rule: RuleText) -> CheckedCondition:
    """The rule in place of all rules of a ruleset's file."""
    head = "".join(_kept(ruleset.text))
    text = f"{head.rstrip()}\nrules:\n{rule.text}"
    files = {n: "".join(_kept(one)) for n, one in ruleset.context.get("files", {}).items()}
    env = {k: v for k, v in ruleset.context.get("env", {}).items() if isinstance(v, str)}
    loaded = load(text, path=_FILE, env=env, dev=True, files=KeptFiles(files), thorough=True)
    first = text.count("\n") - rule.text.count("\n") + 1 + rule.line
    found = [_moved(d, first, rule.indent) for d in loaded.diagnostics if d.file == _FILE]
    last = len(rule.text.splitlines()) - 1 - rule.line
    found = [d for d in found if 1 <= d.line <= last and d.column >= 1]
    made = loaded.ruleset.rules[0] if loaded.ruleset and loaded.ruleset.rules else None
    return CheckedCondition(made, tuple(sorted(found, key=lambda d: d.severity)))


def mended(condition: str, diagnostic: Diagnostic) -> str | None:
    """The condition with what has one right answer written into it; None: it has none."""
    if (fix := diagnostic.fix) is None:
        return None
    lines = condition.split("\n")
    line = lines[fix.line - 1]
    lines[fix.line - 1] = line[: fix.column - 1] + fix.text + line[fix.end_column - 1 :]
    return "\n".join(lines)


def _moved(d: Diagnostic, line: int, indent: int) -> Diagnostic:
    fix = d.fix and msgspec.structs.replace(
        d.fix,
        line=d.fix.line - line + 1,
        column=d.fix.column - indent,
        end_column=d.fix.end_column - indent,
    )
    return msgspec.structs.replace(d, line=d.line - line + 1, column=d.column - indent, fix=fix)


def _kept(text: str) -> Iterator[str]:
    """The sections of a file that others read; a file in braces has none that are found."""
    starts = [(found.start(), found[1]) for found in _SECTION.finditer(text)]
    for at, (start, name) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else len(text)
        if name not in _LEFT_OUT:
            yield text[start:end].rstrip() + "\n"


def _is_plain(condition: str) -> bool:
    """Whether YAML reads it as it is, without quotes."""
    try:
        return "\n" not in condition and yaml.safe_load(f"a: {condition}") == {"a": condition}
    except yaml.YAMLError:
        return False


def _word(text: str) -> str:
    return text if _NAME.fullmatch(text) else yaml_json(text)
