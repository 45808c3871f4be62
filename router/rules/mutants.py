"""
Rules changed in one small way each: what tests should notice (mutation testing).

A part of a condition is left out, negated, or its boundary or constant moved; `&&` and `||` change
places, a pattern of `events` goes, `otherwise` goes. Each is a change that somebody could make by
mistake; what would surely mean the same is not made.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal, TypeVar

import msgspec

from router.expressions import Expression, compile  # noqa: A004 - as re.compile
from router.expressions.nodes import Node, walk
from router.legible import cut
from router.rules.explain_words import one_line
from router.rules.specs import CompiledRule, Condition

_SHOWN_MAX = 80
T = TypeVar("T")
_BOUNDARY = {">=": (">", -1), ">": (">=", 1), "<=": ("<", 1), "<": ("<=", -1)}
"""The other way to see the boundary, and to which side the constant moves that this leaves out."""
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SEEN_FROM_THE_RIGHT = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class MutantPlace(msgspec.Struct, frozen=True):
    """
    Where in a rule: a key, the way from item to item below it (`when`: the action's number), and
    in an expression the offset of the character.
    """

    key: Literal["match", "events", "otherwise", "when"]
    way: tuple[int, ...] = ()
    offset: int = 0


class Mutant(msgspec.Struct, frozen=True):
    """A rule with one change, and the change in words: `` `a > 1` becomes `a >= 1` ``."""

    rule: CompiledRule
    place: MutantPlace
    change: str


class Mutation(msgspec.Struct, frozen=True):
    """One change of an expression or a condition: what it becomes, where, and in words."""

    becomes: str
    offset: int
    words: str


def mutants_of(rule: CompiledRule) -> Iterator[Mutant]:
    """Every change of one rule, in the order of its keys."""
    replace = msgspec.structs.replace
    for events, at, words in _events(rule.events):
        yield Mutant(replace(rule, events=events), MutantPlace("events", at), words)
    if rule.otherwise:
        words = "`otherwise` is left out"
        yield Mutant(replace(rule, otherwise=False), MutantPlace("otherwise"), words)
    for items, way, offset, words in _items(rule.match):
        yield Mutant(replace(rule, match=items), MutantPlace("match", way, offset), words)
    for number, action in enumerate(rule.actions):
        if action.when is None:
            continue
        changes: list[tuple[Expression | None, int, str]] = [(None, 0, _left_out(action.when.text))]
        changes += [(compile(c.becomes), c.offset, c.words) for c in changes_of(action.when)]
        for when, offset, words in changes:
            actions = _with(rule.actions, number, replace(action, when=when))
            place = MutantPlace("when", (number,), offset)
            yield Mutant(replace(rule, actions=actions), place, words)


def _events(
    events: tuple[str, ...] | None,
) -> Iterator[tuple[tuple[str, ...] | None, tuple[int, ...], str]]:
    if events is None:
        return
    yield None, (), "`events` is left out"
    for at, pattern in enumerate(events if len(events) > 1 else ()):
        yield events[:at] + events[at + 1 :], (at,), f"`{pattern}` is left out of `events`"


# -- conditions

Items = tuple[Condition, ...]
Changed = tuple[Items, tuple[int, ...], int, str]


def _items(items: Items) -> Iterator[Changed]:
    """Items of which all must hold: one left out, any instead of all, one of them changed."""
    for at, item in enumerate(items):
        if item.test is None or item.test.tree.kind != "and":  # of that, each part is left out
            yield items[:at] + items[at + 1 :], (at,), 0, _left_out(item.source)
    if len(items) > 1:
        either = Condition(source="", any_of=items)
        yield (either,), (0,), 0, "one item of `match` is enough"
    for at, item in enumerate(items):
        for changed, way, offset, words in _of_condition(item):
            yield _with(items, at, changed), (at, *way), offset, words


def _of_condition(item: Condition) -> Iterator[tuple[Condition, tuple[int, ...], int, str]]:
    if item.test is not None:
        for change in changes_of(item.test):
            changed = Condition(change.becomes, test=compile(change.becomes))
            yield changed, (), change.offset, change.words
    elif item.negate is not None:
        yield item.negate, (), 0, "`not` is left out"
        for changed, way, offset, words in _of_condition(item.negate):
            yield Condition(item.source, negate=changed), (0, *way), offset, words
    else:
        yield from _of_any(item)


def _of_any(item: Condition) -> Iterator[tuple[Condition, tuple[int, ...], int, str]]:
    parts = item.any_of or ()
    for at, part in enumerate(parts if len(parts) > 1 else ()):
        fewer = parts[:at] + parts[at + 1 :]
        yield Condition(item.source, any_of=fewer), (at,), 0, _left_out(part.source)
    if len(parts) > 1:
        none_fails = Condition("", any_of=tuple(Condition("", negate=part) for part in parts))
        yield Condition("", negate=none_fails), (), 0, "all items of `any` are needed"
    for at, part in enumerate(parts):
        for changed, way, offset, words in _of_condition(part):
            yield (
                Condition(item.source, any_of=_with(parts, at, changed)),
                (at, *way),
                offset,
                words,
            )


# -- expressions


def changes_of(expression: Expression) -> list[Mutation]:
    """Every change of a condition's expression, as the text that it becomes; each text once."""
    text, tree = expression.text, expression.tree
    found = [*_of_logic(text, tree)]
    for node, _, _ in walk(tree):
        if node.kind == "compare":
            found += _of_comparison(text, node)
    found.sort(key=lambda change: change.offset)
    return list({c.becomes: c for c in reversed(found) if c.becomes != text}.values())[::-1]


def _of_logic(text: str, node: Node) -> Iterator[Mutation]:
    """Parts joined by `&&` and `||`, and each leaf below them."""
    if node.kind == "not" and node.children[0].kind in ("and", "or", "not"):
        yield from _of_logic(text, node.children[0])
    elif node.kind not in ("and", "or"):
        yield _negated(text, node)
    else:
        for child in node.children:
            if child.kind not in ("and", "or"):
                whole = "`true`" if node.kind == "and" else "`false`"
                yield _spliced(text, child, whole, _left_out(_source(text, child)))
            yield from _of_logic(text, child)
        yield _swapped(text, node)


def _negated(text: str, leaf: Node) -> Mutation:
    if leaf.kind == "compare":
        return _with_operator(text, leaf, _OPPOSITE[leaf.value])
    if leaf.kind == "not":
        return _spliced(text, leaf, _source(text, leaf.children[0]))
    return _spliced(text, leaf, f"!({_source(text, leaf)})")


def _swapped(text: str, node: Node) -> Mutation:
    old, new = ("&&", "||") if node.kind == "and" else ("||", "&&")
    parts, last = [], 0
    for before, after in zip(node.children, node.children[1:], strict=False):
        gap = text[before.end : after.start]
        parts += [text[last : before.end], gap.replace(old, new, 1)]
        last = after.start
    whole = "".join([*parts, text[last:]])
    shown = cut(one_line(_source(text, node)), _SHOWN_MAX)
    return Mutation(whole, node.start, f"`{old}` becomes `{new}` in `{shown}`")


def _of_comparison(text: str, node: Node) -> Iterator[Mutation]:
    left, right = node.children
    constant = next((child for child in (right, left) if child.kind == "literal"), None)
    if node.value in _BOUNDARY:
        yield _with_operator(text, node, _BOUNDARY[node.value][0])
        if constant is not None and _is_number(constant.value):
            sign = node.value if constant is right else _SEEN_FROM_THE_RIGHT[node.value]
            yield _moved(text, node, constant, str(constant.value + _BOUNDARY[sign][1]))
    elif constant is not None and _is_number(constant.value):
        yield _moved(text, node, constant, str(constant.value + 1))
    elif constant is not None and text.startswith("'", constant.start):
        yield _moved(text, node, constant, text[constant.start : constant.end - 1] + "~'")


def _is_number(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _moved(text: str, node: Node, constant: Node, becomes: str) -> Mutation:
    before, after = text[node.start : constant.start], text[constant.end : node.end]
    return _spliced(text, node, before + becomes + after)


def _with_operator(text: str, node: Node, sign: str) -> Mutation:
    left, right = node.children
    gap = text[left.end : right.start].replace(node.value, sign, 1)
    before, after = text[node.start : left.end], text[right.start : node.end]
    return _spliced(text, node, before + gap + after)


def _spliced(text: str, node: Node, becomes: str, words: str | None = None) -> Mutation:
    if words is None:
        old, new = (cut(one_line(one), _SHOWN_MAX) for one in (_source(text, node), becomes))
        words = f"`{old}` becomes `{new}`"
    return Mutation(text[: node.start] + becomes + text[node.end :], node.start, words)


def _source(text: str, node: Node) -> str:
    return text[node.start : node.end]


def _left_out(source: str) -> str:
    return f"`{cut(one_line(source), _SHOWN_MAX)}` is left out"


def _with(items: Sequence[T], at: int, item: T) -> tuple[T, ...]:
    return (*items[:at], item, *items[at + 1 :])
