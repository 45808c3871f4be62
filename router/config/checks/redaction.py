"""Checks of `redact`: who reads what is never stored."""

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.config.language import Written
from router.expressions import Expression
from router.expressions.field_paths import FieldPath
from router.model.settings import Redact
from router.rules.redacting import lost, reads

_MAY_READ = frozenset({"'match'", "'group'"})
"""Places that are read as a delivery comes in, before anything is stored."""


def never_stored(file: CompiledFile) -> Found:
    """Actions, and their conditions, that read a field of which nothing is ever written."""
    redacting = [(e, e.redact) for e in file.ruleset.endpoints.values() if e.redact is not None]
    never = [(endpoint, redact) for endpoint, redact in redacting if redact.when == "stored"]
    for texts in file.rules if never else ():
        for endpoint, redact in never:
            for written in texts.written if texts.rule.takes(endpoint.name) else ():
                if written.place not in _MAY_READ:
                    yield from _lost(file, written, endpoint.name, redact)


def _lost(file: CompiledFile, written: Written, endpoint: str, redact: Redact) -> Found:
    for expression, base in written.expressions:
        for path in lost(redact.paths, reads(expression.tree, file.ruleset.defines)):
            field = _written_as(redact, path)
            start, end = _span(expression, path)
            yield (
                TextSpan(written.text, base + start, base + end),
                f"'{field}' of '{endpoint}' is never stored, so no action can read it",
                "read it in 'match', or write 'when: done' beside its 'redact'",
            )


def _written_as(redact: Redact, read: FieldPath) -> str:
    """The field that is read, as `redact` names it."""
    pairs = zip(redact.fields, redact.paths, strict=True)
    return next(field for field, path in pairs if lost([path], [read]))


def _span(expression: Expression, path: FieldPath) -> tuple[int, int]:
    """Where the expression names it, or the definition by which it reads it."""
    whole = (0, len(expression.text))
    for key, span in expression.spans.items():
        if key == path[:2] or key[0] == "def":
            return span
    return expression.spans.get(str(path[0]), whole)
