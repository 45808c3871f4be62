"""A rules file as text for people: blocks with a comment that says whence each comes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

WIDTH = 100
_SHORT = 80
_MAP, _LIST, _TEXT = (f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str"))
_NOT_IN_CORE = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
_PLAIN = re.compile(r"[\w/.=-]+(?: [\w/.=-]+)*")
"""Texts that stand between brackets as they are."""
Row = tuple[Any, str]
"""A value with its comment, which may be empty."""


class _Dumper(yaml.SafeDumper):
    """Writes YAML 1.2; what is short and plain stands on one line."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's
        first: [row for row in rows if row[0] not in _NOT_IN_CORE or first in "tTfF"]
        for first, rows in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - PyYAML's
        return super().increase_indent(flow, indentless=False)

    def represent_data(self, data: Any) -> yaml.Node:
        """A text between double quotes where it is easier to read so; short values on one line."""
        if isinstance(data, dict):
            return self.represent_mapping(_MAP, data.items(), _short(data))
        if isinstance(data, list):
            return self.represent_sequence(_LIST, data, _short(data))
        if not isinstance(data, str):
            return super().represent_data(data)
        double = _double(data) and not self.analyze_scalar(data).allow_block_plain
        return self.represent_scalar(_TEXT, str(data), '"' if double else None)


def _short(value: Any) -> bool:
    return len(str(value)) < _SHORT and _plain(value)


def _plain(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(map(_plain, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, str) or bool(_PLAIN.fullmatch(value)) or _double(value)


def _double(text: str) -> bool:
    """Whether it is easier to read between double quotes."""
    return "'" in text and text.isprintable() and not set(text) & {'"', "\\"}


def block(value: Any, indent: int = 0) -> list[str]:
    """The lines of a value."""
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    lines = text.removesuffix("...\n").splitlines()  # which ends a text that stands alone
    return [" " * indent + line if line else "" for line in lines]


def section(title: str, rows: Mapping[str, Row] | Sequence[Row]) -> list[str]:
    """A section: a list, or values by their names; none without rows."""
    lines = ["", f"{title}:"] if rows else []
    named = rows.items() if isinstance(rows, Mapping) else ((None, row) for row in rows)
    for name, (value, comment) in named:
        lines += [f"  # {line}" for line in comment.splitlines()]
        if name is None:
            lines += block([value], 2)
            continue
        (key,), (first, *more) = block(name, 2), block(value, 4)
        lines += [f"{key}:", first, *more] if more else [f"{key}: {first.lstrip()}"]
    return lines
