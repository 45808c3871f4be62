"""The request of a line of the audit, as its operator would write it."""

import shlex
from typing import Any

import msgspec

from router.legible import exact
from router.model.operations import Audit

NAMED_SHOWN = 3
_TIMES = ("since", "until")
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))


def asked_words(line: Audit) -> str:
    """Options as they can be pasted back into a command line, then the rest by name."""
    words: list[str] = []
    for name, value in line.asked.items():
        words += _words(name, value)
    if line.verb == "replay":
        words.append(f"as {line.id}")
    return " ".join(words) or "-"


def asked_json(line: Audit) -> dict[str, Any]:
    """The line as JSON values, its times as in the selector that they are."""
    line_json = msgspec.structs.asdict(line)
    asked = dict(line.asked)
    if isinstance(asked.get("selector"), dict):
        asked["selector"] = {n: _option(n, v) for n, v in asked["selector"].items()}
    return {**line_json, "at": exact(line.at), "asked": asked}


def _words(name: str, value: Any) -> list[str]:
    match name, value:
        case "selector", dict():
            return [f"--{n} {shlex.quote(_text(_option(n, v)))}" for n, v in value.items()]
        case "ids" | "facts", list():
            more = len(value) - NAMED_SHOWN
            shown = [shlex.quote(_text(one)) for one in value[:NAMED_SHOWN]]
            return [*shown, f"and {more} more"] if more > 0 else shown
        case "recorded" | "again", bool():
            return [f"--{name}"] if value else []
        case "older_than", int():
            unit, size = next((u, ms) for u, ms in _UNITS if value % ms == 0)
            return [f"--older-than {value // size}{unit}"]
        case "rate", _:
            return []
        case _:
            return [f"{name} {_text(value)}"]


def _option(name: str, value: Any) -> Any:
    return exact(value) if name in _TIMES and isinstance(value, int) else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
