"""
Rules that are alike: of ten thousand made by a program, most differ in names of shops or people.

A rule whose texts are those of one found right, but for texts of which types know nothing, is as
right: no type tells one such text from another.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from router.config.language import Written
from router.expressions import Expression, compared_at
from router.expressions.nodes import Node, Path, path_of
from router.rules.specs import CompiledRule
from router.typing.lattice import FAULT, NOTHING, TEXT, Type, position, step
from router.typing.scenes import Scene

_LETTERS = (re.compile("[a-z]+"), re.compile("[A-Z]+"), re.compile("[0-9]+"))
_WORDS = frozenset({"", "null", "none", "nil", "true", "false", "undefined"})
"""Texts that may be meant for something that is no text."""

_Outline = tuple[object, ...]


class Likeness(msgspec.Struct, frozen=True):
    """What a rule has in common with all that are as right as it is."""

    outline: _Outline
    texts: tuple[str, ...]


class RulesAlike:
    """The rules of one file that were found `right`, by what they are like."""

    def __init__(self) -> None:
        self._free: dict[_Outline, tuple[bool, ...]] = {}
        self.right: set[Likeness | None] = set()

    def likeness(
        self, rule: CompiledRule, written: Sequence[Written], scenes: Sequence[Scene]
    ) -> Likeness | None:
        """What the rule is like; None where conditions hold conditions."""
        if any(condition.test is None for condition in rule.match):
            return None
        kinds = [(action.id, action.kind) for action in rule.actions]
        places: list[tuple[str, str]] = []
        texts: list[str] = []
        for one in written:
            if isinstance(one.compiled, Expression):
                places.append((one.place, one.compiled.outline))
                texts += one.compiled.compared
            else:
                places.append((one.place, one.text.value))
        outline = (id(scenes), *kinds, *places)
        if (free := self._free.get(outline)) is None:
            free = self._free[outline] = tuple(_free(written, scenes))
        each = zip(texts, free, strict=True)
        return Likeness(outline, tuple([_form(t) if is_free else t for t, is_free in each]))


def _form(text: str) -> str:
    """What a text looks like: `shop-17.test` as `a-0.a`."""
    if text.lower() in _WORDS:
        return text
    for letters, one in zip(_LETTERS, "aA0", strict=True):
        text = letters.sub(one, text)
    return text


def _free(written: Sequence[Written], scenes: Sequence[Scene]) -> Iterator[bool]:
    """Of each text that is compared, whether nothing is known of what it is compared with."""
    paths = [path for w in written for one, _ in w.expressions for path in _paths(one.tree)]
    for one in written:
        if isinstance(one.compiled, Expression):
            fields = dict(_compared(one.compiled.tree))
            for start in compared_at(one.compiled.text):
                path = fields.get(start)
                yield path is not None and _alone(path, paths) and _unknown(path, scenes)


def _compared(node: Node) -> Iterator[tuple[int, Path]]:
    """The texts on the AND spine that a plain path is compared with, by where they begin."""
    if node.kind == "and":
        for child in node.children:
            yield from _compared(child)
    elif node.kind == "compare":
        left, right = node.children
        if right.kind == "literal" and (path := path_of(left)) is not None:
            yield right.start, path


def _paths(node: Node) -> Iterator[Path]:
    """Every path of a tree, as long as it goes."""
    if (path := path_of(node)) is not None:
        yield path
    else:
        for child in node.children:
            yield from _paths(child)


def _alone(path: Path, paths: Sequence[Path]) -> bool:
    """Whether nothing else reads it, a part of it, or what it is a part of."""
    keys = path[1]
    near = [other for _, other in paths if keys[: len(other)] == other[: len(keys)]]
    return len(near) == 1


def _unknown(path: Path, scenes: Sequence[Scene]) -> bool:
    return all(_is_plain(_type_at(scene.roots, path)) for scene in scenes)


def _type_at(kind: Type, path: Path) -> Type:
    for key in path[1]:
        kind = step(kind, key) if isinstance(key, str) else position(kind)
    return kind


def _is_plain(kind: Type) -> bool:
    """Whether it is any text, or anything at all."""
    if kind.is_any:
        return True
    listed = kind.texts is not None or kind.known or kind.aliases or kind.format
    return not listed and not kind.kinds & ~(TEXT | NOTHING | FAULT)
