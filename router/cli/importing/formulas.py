"""Conditions as trees of `&&` and `||` over expressions, simplified where nothing is lost."""

from collections.abc import Iterable, Iterator

import msgspec


class Every(msgspec.Struct, frozen=True):
    """All of these hold."""

    parts: tuple["Formula", ...] = ()


class Some(msgspec.Struct, frozen=True):
    """At least one of these holds."""

    parts: tuple["Formula", ...] = ()


Formula = str | Every | Some
"""A text is an expression that holds no `&&` or `||` of its own."""

ALWAYS = Every()
NEVER = Some()


def every(parts: Iterable[Formula]) -> Formula:
    """The formula that all of these hold."""
    kept = tuple(dict.fromkeys(_flat(parts, Every)))
    if NEVER in kept:
        return NEVER
    return kept[0] if len(kept) == 1 else Every(kept)


def some(parts: Iterable[Formula]) -> Formula:
    """The formula that one of these holds."""
    kept = tuple(dict.fromkeys(_flat(parts, Some)))
    if ALWAYS in kept:
        return ALWAYS
    return kept[0] if len(kept) == 1 else Some(kept)


def _flat(parts: Iterable[Formula], kind: type[Every] | type[Some]) -> Iterator[Formula]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts
        else:
            yield part


def written(formula: Formula) -> str:
    """As one expression."""
    if isinstance(formula, Some):
        return " || ".join(map(written, formula.parts)) or "1 == 2"
    if isinstance(formula, Every):
        return " && ".join(map(_within, formula.parts)) or "1 == 1"
    return formula


def _within(formula: Formula) -> str:
    text = written(formula)
    return f"({text})" if isinstance(formula, Some) else text
