"""Diagnostics in the formats of the services that show them beside a line."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from router import __version__
from router.config.codes import CODES, Code, page
from router.config.diagnostics import indented_json, render_json, render_text
from router.errors import Diagnostic

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "%SRCROOT%"

Found = Sequence[Diagnostic]


def render_github(found: Found) -> str:
    """A workflow command a line: the annotation stands beside the line in the change."""
    return "".join(
        f"::{d.severity} file={_value(d.file)},line={d.line},col={d.column},"
        f"endColumn={d.column + d.width},title={_value(d.code)}::{_data(_text(d))}\n"
        for d in found
    )


def render_sarif(found: Found) -> str:
    """
    A SARIF 2.1.0 log with one run; columns count characters. Relative addresses are relative to
    where the command ran, nearly always the top of the repository.
    """
    rules = {code: index for index, code in enumerate(dict.fromkeys(d.code for d in found))}
    driver = {
        "name": "router check",
        "version": __version__,
        "rules": [_sarif_rule(code) for code in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"description": {"text": "where router check ran"}}},
        "results": [_sarif_result(d, rules[d.code]) for d in found],
    }
    return indented_json({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


_RENDERERS: Mapping[str, Callable[[Found], str]] = {
    "text": render_text,
    "json": render_json,
    "github": render_github,
    "sarif": render_sarif,
}
FORMATS = tuple(_RENDERERS)


def render(format_: str, found: Found) -> str:
    """Return the diagnostics in one of `FORMATS`."""
    return _RENDERERS[format_](found)


def _text(d: Diagnostic) -> str:
    return f"{d.message}: {d.hint}" if d.hint else d.message


# -- workflow commands


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# -- SARIF


def _sarif_rule(code: str) -> dict[str, Any]:
    known = CODES.get(code, Code(code))
    return {
        "id": code,
        "shortDescription": {"text": known.about},
        "defaultConfiguration": {"level": known.severity},
        "help": {"text": f"router check --explain {code}", "markdown": page(code)},
    }


def _sarif_result(d: Diagnostic, rule: int) -> dict[str, Any]:
    region = _region(d.line, d.column, d.column + d.width)
    result = {
        "ruleId": d.code,
        "ruleIndex": rule,
        "level": d.severity,
        "message": {"text": _text(d)},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(d), "region": region}}],
    }
    if (fix := d.fix) is not None:
        change = {
            "deletedRegion": _region(fix.line, fix.column, fix.end_column),
            "insertedContent": {"text": fix.text},
        }
        changes = [{"artifactLocation": _artifact(d), "replacements": [change]}]
        result["fixes"] = [{"description": {"text": d.hint}, "artifactChanges": changes}]
    return result


def _artifact(d: Diagnostic) -> dict[str, str]:
    path = PurePath(d.file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix()), "uriBaseId": _BASE}


def _region(line: int, column: int, end: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": column, "endColumn": end}
