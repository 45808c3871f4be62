"""Conditions as somebody writes them who has a real payload before him: one for each path."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from router.config import load
from tests.shapes.examples import Example

KEPT = Path(__file__).with_name("real_paths.json")
KEPT_MAX = 200
"""So many conditions of each sender are kept for the test."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Za-z][\w. -]{0,40}")

Asked = Mapping[str, Sequence[str]]
"""Conditions by event."""


def wanted(examples: Iterable[Example]) -> Asked:
    """The conditions of all examples, each once."""
    found: dict[str, dict[str, None]] = {}
    for event, payload in examples:
        found.setdefault(event, {}).update(dict.fromkeys(conditions(payload)))
    return {event: list(each) for event, each in found.items()}


def conditions(payload: Any, path: str = "payload") -> Iterator[str]:
    """
    A condition on every value; elements of a list by the path of its first.

    A word is compared with itself, as the name of a state is; other texts with none.
    """
    if isinstance(payload, dict):
        for name, one in payload.items():
            step = name if _NAME.fullmatch(name) else f'"{name}"'
            yield from conditions(one, f"{path}.{step}")
    elif isinstance(payload, list):
        for one in payload:
            yield from conditions(one, f"{path}[0]")
    elif payload is None or isinstance(payload, bool):
        yield f"{path} == {'null' if payload is None else str(payload).lower()}"
    elif isinstance(payload, str):
        yield f"{path} == '{payload}'" if _WORD.fullmatch(payload) else f"{path} != ''"
    else:
        yield f"{path} >= 0"


def findings(provider: str, asked: Asked) -> dict[str, list[tuple[str, str]]]:
    """What `check` says of these conditions, each in a rule: severity to (code, condition)."""
    lines = ["version: 1", _ENDPOINT.format(provider), "rules:"]
    before, texts = len(lines), []
    for event, expression in ((event, one) for event, each in asked.items() for one in each):
        quoted = expression.replace("'", "''")
        lines.append(_RULE.format(len(lines), event, quoted))
        texts.append(f"{event}: {expression}")
    found: dict[str, list[tuple[str, str]]] = {"error": [], "warning": []}
    for one in load("\n".join(lines), path="rules.yaml", env={}).diagnostics:
        if one.line > before:
            found[one.severity].append((one.code, texts[one.line - before - 1]))
    return found


_ENDPOINT = "endpoints: {{e: {{id: e-0123456789abcdef, provider: {}, verify: none}}}}"
_RULE = "- {{id: r{}, from: e, events: '{}', match: '{}', actions: {{log: x}}}}"


def kept(sender: str, asked: Asked) -> None:
    """Write conditions of this sender beside this file, evenly taken from all."""
    flat = [(event, one) for event, each in asked.items() for one in each]
    every = max(1, len(flat) // KEPT_MAX)
    some: dict[str, list[str]] = {}
    for event, one in flat[::every]:
        some.setdefault(event, []).append(one)
    whole = json.loads(KEPT.read_bytes()) if KEPT.exists() else {}
    text = json.dumps(whole | {sender: some}, indent=1, sort_keys=True, ensure_ascii=False)
    KEPT.write_text(text + "\n", "utf-8")
