"""
The head of each built-in definition: who it is, known without parsing the rest.

The head is the first paragraph of a file: plain `key: value` lines and one-line lists.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from router.providers.headers import Headers

FOLDER = Path(__file__).with_name("definitions")
HEAD_MAX = 1_000
"""Characters in which a definition's first paragraph ends."""
_VALUE_MAX = 60


class DefinitionHead(msgspec.Struct, frozen=True):
    """What the first paragraph of the definition `file` says; `known_by` as header lines begin."""

    generic: bool
    file: str
    names: tuple[str, ...]
    label: str
    known_by: tuple[bytes, ...]

    @property
    def shown(self) -> str:
        """Its label, and what to write after `provider:`."""
        return f"{self.label} (provider {' or '.join(f'`{name}`' for name in self.names)})"


@cache
def heads() -> tuple[DefinitionHead, ...]:
    """Every definition's, senders first, then the kinds that stand for many."""
    found = (_head(path) for path in FOLDER.glob("*.yaml"))
    return tuple(sorted(found, key=lambda head: (head.generic, head.file)))


def looks_like(headers: Headers, fields: Iterable[str] = ()) -> str:
    """The senders that these headers, and names of the body's fields, fit best; "" for none."""
    every = [name + b": " + value[:_VALUE_MAX].lower() for name, value in headers]
    every += [b"field: " + name[:_VALUE_MAX].lower().encode("utf-8") for name in fields]
    # Most headers tell of nobody: one look at each, then one for each sender at the others.
    telling = [line for line in every if line.startswith(_all_known_by())]
    fits = [(sum(line.startswith(h.known_by) for line in telling), h) for h in heads()]
    best = max(count for count, _ in fits)
    return " or ".join(head.shown for count, head in fits if count == best) if best else ""


@cache
def _all_known_by() -> tuple[bytes, ...]:
    return tuple(line for head in heads() for line in head.known_by)


def _head(path: Path) -> DefinitionHead:
    with path.open(encoding="utf-8") as file:
        first, _, _ = file.read(HEAD_MAX).partition("\n\n")
    keys = dict(line.partition(": ")[::2] for line in first.splitlines())
    known_by = _listed(keys.get("known_by", ""))
    return DefinitionHead(
        generic=keys.get("generic") == "true",
        file=path.stem,
        names=_listed(keys["names"]),
        label=keys["label"].strip('"'),
        known_by=tuple(line.encode("ascii") for line in known_by),
    )


def _listed(text: str) -> tuple[str, ...]:
    each = text.strip("[]").split(", ")
    return tuple(item.strip('"') for item in each if item)
