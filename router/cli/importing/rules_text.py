"""A rules file as text for people: blocks with a comment that says whence each comes."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

WIDTH = 100
_SHORT = 80
_MAP, _LIST, _TEXT = (f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str"))
_NOT_IN_CORE = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
_TRUTHS = "tTfF"


_PLAIN = re.compile(r"[\w/.=-]+(?: [\w/.=-]+)*")
"""Texts that stand between brackets as they are."""


class _Dumper(yaml.SafeDumper):
    """Writes YAML 1.2; what is short and plain stands on one line."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - PyYAML's
        return super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's
        return True


def _short(value: Any) -> bool:
    return len(str(value)) < _SHORT and _plain(value)


def _plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_plain, value.values()))
    if isinstance(value, list):
        return all(map(_plain, value))
    return not isinstance(value, str) or bool(_PLAIN.fullmatch(value)) or _double(value)


def _double(text: str) -> bool:
    """Whether it is easier to read between double quotes."""
    return "'" in text and text.isprintable() and not set(text) & {'"', "\\"}


_Dumper.add_representer(
    dict, lambda dumper, value: dumper.represent_mapping(_MAP, value.items(), _short(value))
)


def _represent_text(dumper: Any, text: str) -> yaml.Node:
    style = '"' if _double(text) and not dumper.analyze_scalar(text).allow_block_plain else None
    node: yaml.Node = dumper.represent_scalar(_TEXT, text, style)
    return node


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(
    list, lambda dumper, value: dumper.represent_sequence(_LIST, value, _short(value))
)
_Dumper.yaml_implicit_resolvers = {
    first: [row for row in rows if row[0] not in _NOT_IN_CORE or first in _TRUTHS]
    for first, rows in yaml.SafeDumper.yaml_implicit_resolvers.items()
}


def block(value: Any, indent: int = 0) -> list[str]:
    """The lines of a value."""
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    lines = text.removesuffix("...\n").splitlines()  # which ends a text that stands alone
    return [" " * indent + line if line else "" for line in lines]


def mapping(title: str, rows: Mapping[str, tuple[Any, str]]) -> list[str]:
    """A section of names; each value with its comment, which may be empty."""
    lines = ["", f"{title}:"] if rows else []
    for name, (value, comment) in rows.items():
        lines += _comment(comment)
        (key,), (first, *more) = block(name, 2), block(value, 4)
        lines += [f"{key}:", first, *more] if more else [f"{key}: {first.lstrip()}"]
    return lines


def listing(title: str, rows: Iterable[tuple[Any, str]]) -> list[str]:
    """A section that is a list."""
    lines: list[str] = []
    for value, comment in rows:
        lines += _comment(comment)
        lines += block([value], 2)
    return ["", f"{title}:", *lines] if lines else []


def _comment(text: str) -> list[str]:
    return [f"  # {line}" for line in text.splitlines()]
