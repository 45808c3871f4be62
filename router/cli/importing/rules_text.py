"""A rules file as text for people: blocks with a comment that says whence each comes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

WIDTH = 100
_SHORT = 80
_MAP, _LIST, _TEXT = (f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str"))
_NOT_IN_CORE = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
_TRUTHS = "tTfF"
_PLAIN = re.compile(r"[\w/.=-]+(?: [\w/.=-]+)*")
"""Texts that stand between brackets as they are."""
Row = tuple[Any, str]
"""A value with its comment, which may be empty."""


class _Dumper(yaml.SafeDumper):
    """Writes YAML 1.2; what is short and plain stands on one line."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - PyYAML's
        return super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's
        return True

    def write_map(self, value: dict[str, Any]) -> yaml.Node:
        """On one line, if it is short."""
        return self.represent_mapping(_MAP, value.items(), _short(value))

    def write_list(self, value: list[Any]) -> yaml.Node:
        """On one line, if it is short."""
        return self.represent_sequence(_LIST, value, _short(value))

    def write_text(self, text: str) -> yaml.Node:
        """Between quotes, where it must be or is easier to read so."""
        double = _double(text) and not self.analyze_scalar(text).allow_block_plain
        return self.represent_scalar(_TEXT, text, '"' if double else None)


_Dumper.add_representer(dict, _Dumper.write_map)
_Dumper.add_representer(list, _Dumper.write_list)
_Dumper.add_representer(str, _Dumper.write_text)
_Dumper.yaml_implicit_resolvers = {
    first: [row for row in rows if row[0] not in _NOT_IN_CORE or first in _TRUTHS]
    for first, rows in yaml.SafeDumper.yaml_implicit_resolvers.items()
}


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
