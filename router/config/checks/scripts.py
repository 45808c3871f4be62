"""What shellcheck says of scripts."""

from pathlib import PurePath

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.config.checks.commands import scripts_of
from router.config.scripts import Script
from router.yaml_source import SourceText

_DIALECTS = frozenset({"sh", "bash", "dash", "ksh"})
SCRIPTS_MAX = 500


def doubtful_scripts(file: CompiledFile) -> Found:
    """What the program finds that this load was given, each script once."""
    if (lint := file.context.script_lint) is None:
        return
    texts: dict[Script, list[SourceText]] = {}
    for interpreter, text, _ in scripts_of(file):
        shell, *options = interpreter
        if (name := PurePath(shell).name) in _DIALECTS and len(texts) < SCRIPTS_MAX:
            texts.setdefault(Script((name, *options), text.value), []).append(text)
    if not texts:
        return
    for (script, places), findings in zip(texts.items(), lint(list(texts)), strict=True):
        starts = [0]
        for line in script.text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for one in findings:
            start, end = (starts[line - 1] + column - 1 for line, column in (one.start, one.end))
            message = f"shellcheck SC{one.code}: {one.message}"
            for place in places:
                wiki = f"https://www.shellcheck.net/wiki/SC{one.code}"
                yield TextSpan(place, start, end), message, wiki
