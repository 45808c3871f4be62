"""Diagnostics for people (one line, the source, a caret, a hint) and for programs (JSON)."""

import unicodedata
from collections.abc import Iterable
from typing import Any

import msgspec

from router.errors import Diagnostic

SHOWN_MAX = 200
_BEFORE = 80


def render_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Every diagnostic as `file:line:column: error CODE: message`, its line and a caret below."""
    return "".join(_one(diagnostic) for diagnostic in diagnostics)


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A JSON list of objects, with the fields of Diagnostic; `source` is cut to what is shown."""
    return indented_json([msgspec.to_builtins(d) | {"source": _cut(d)} for d in diagnostics])


def indented_json(value: Any) -> str:
    """A value as JSON for people and programs; halves of characters become `?`."""
    return msgspec.json.format(msgspec.json.encode(_whole(value)), indent=2).decode() + "\n"


def _whole(value: Any) -> Any:
    """Halves of characters cannot be written as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _whole(child) for key, child in value.items()}
    return [_whole(child) for child in value] if isinstance(value, list) else value


def _one(diagnostic: Diagnostic) -> str:
    d = diagnostic
    head = f"{d.file}:{d.line}:{d.column}: {d.severity} {d.code}: {d.message}\n"
    if d.source is None or not d.source.strip():
        return head + (f"    hint: {d.hint}\n" if d.hint else "")
    shown, column, width = _window(d.source, d.column, d.width)
    gutter = f"{d.line:>5} | "
    blank = " " * (len(gutter) - 2) + "| "
    before = _cells(shown[: column - 1])
    marks = "^" * max(1, _cells(shown[column - 1 : column - 1 + width]))
    hint = f" {d.hint}" if d.hint else ""
    return f"{head}{gutter}{shown}\n{blank}{' ' * before}{marks}{hint}\n"


def _cut(d: Diagnostic) -> str | None:
    if d.source is None or len(d.source) <= SHOWN_MAX:
        return d.source
    return _window(d.source, d.column, d.width)[0]


def _window(source: str, column: int, width: int) -> tuple[str, int, int]:
    """At most `SHOWN_MAX` characters of the line around the caret, and where it is in them."""
    if len(source) <= SHOWN_MAX:
        return _printable(source), column, width
    start = min(max(0, column - 1 - _BEFORE), len(source) - SHOWN_MAX + 2)
    head = "…" if start else ""
    room = SHOWN_MAX - 2
    tail = "…" if start + room < len(source) else ""
    shown = head + _printable(source[start : start + room]) + tail
    at = column - start + len(head)
    return shown, at, max(1, min(width, len(shown) - at + 1))


def _printable(text: str) -> str:
    """One cell a character, so that the caret stays under what it means."""
    return "".join(" " if c == "\t" else c if c.isprintable() else "·" for c in text)


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    visible = [c for c in text if not unicodedata.combining(c)]
    return len(visible) + sum(unicodedata.east_asian_width(c) in "WF" for c in visible)
