"""What is known of a path once a condition has held, or has not."""

from collections.abc import Callable, Iterator
from functools import reduce

from msgspec.structs import replace

from router.expressions.absent import JSON
from router.expressions.nodes import Node, path_of
from router.expressions.signatures import FUNCTIONS
from router.typing.equality import less, met, narrowed_to
from router.typing.interval import OPPOSITE, Interval, beside
from router.typing.lattice import (
    ABSENT,
    ANY,
    BOOLEAN,
    EVERYTHING,
    FALSE,
    FAULT,
    JSON_KINDS,
    LIST,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    TRUE,
    Type,
    constant,
    join,
    with_kinds,
)
from router.typing.refine import Change, not_empty, refined
from router.typing.run import Fact, TypeScope, TypeWalk

WORD_BITS = {
    "null": NULL,
    "boolean": BOOLEAN,
    "number": NUMBER,
    "string": TEXT,
    "array": LIST,
    "object": OBJECT,
}
"""The kinds by JMESPath's words for them."""
_BITS = {**WORD_BITS, "any": JSON_KINDS, "expref": JSON_KINDS}


def allowed(types: tuple[str, ...]) -> int:
    """The kinds that a parameter takes."""
    found = 0
    for name in types:
        found |= _BITS[name.partition("[")[0]]
    return found


def when_true(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """The view once the node has held; None if it never can."""
    match node.kind:
        case "and":
            return _in_turn(run, node, view, when_true)
        case "or":
            return _either(run, node, view)
        case "not":
            return when_false(run, node.children[0], view)
        case "compare":
            seen = _compared(run, node, view, holds=True)
            return None if seen is None else _judged(seen, node, TRUE)
    seen = _given(run, node, view)
    seen = None if seen is None else refined(run, seen, node, _present_and_true)
    if seen is not None and node.kind == "call" and node.value in _SEARCHES:
        seen = _found(run, node, seen)
    return None if seen is None else _judged(seen, node, TRUE)


def when_false(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """The view once the node has not held, be it false or an error; None if it always holds."""
    match node.kind:
        case "or":
            return _in_turn(run, node, view, when_false)
        case "not":
            return when_true(run, node.children[0], view)
        case "and" | "pipe":
            return view
    seen = (
        _compared(run, node, view, holds=False)
        if node.kind == "compare"
        else refined(run, view, node, falsy)
    )
    return None if seen is None else _judged(seen, node, FALSE | FAULT)


def _judged(view: TypeScope, node: Node, verdict: int) -> TypeScope:
    return replace(view, facts=(Fact(node, Type(verdict), judged=True), *view.facts))


Narrow = Callable[[TypeWalk, Node, TypeScope], TypeScope | None]


def _in_turn(run: TypeWalk, node: Node, view: TypeScope, narrow: Narrow) -> TypeScope | None:
    seen: TypeScope | None = view
    for child in node.children:
        if seen is None:
            return None
        seen = narrow(run, child, seen)
    return seen


def _either(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """Whatever holds in each of the ways in which one part can hold."""
    found: TypeScope | None = None
    before: TypeScope | None = view
    for child in node.children:
        if before is None:
            break
        way = when_true(run, child, before)
        found = way if found is None else found if way is None else both(found, way)
        before = when_false(run, child, before)
    return found


def both(a: TypeScope, b: TypeScope) -> TypeScope:
    """What holds in the one view or the other."""
    if a is b:
        return a
    here = a.here if a.here is None or b.here is None or a.here is b.here else join(a.here, b.here)
    return replace(a, root=_join_roots(a.root, b.root), here=here, facts=tuple(_shared(a, b)))


def _shared(a: TypeScope, b: TypeScope) -> Iterator[Fact]:
    """What is known in both."""
    for fact in a.facts:
        other = b.fact(fact.node, judged=fact.judged)
        if other is not None:
            yield fact._replace(kind=join(fact.kind, other))


def _join_roots(a: Type, b: Type) -> Type:
    if a is b:
        return a
    fields = dict(a.fields)
    for name, kind in b.fields.items():
        mine = fields.get(name, kind)
        # The names below these roots are lazy or fixed: what was learnt of them is let go.
        fields[name] = kind if kind is mine or kind.label else join(mine, kind)
    return replace(a, fields=fields)


# -- comparisons


def _compared(run: TypeWalk, node: Node, view: TypeScope, *, holds: bool) -> TypeScope | None:
    left, right = node.children
    if node.value in OPPOSITE:
        sign = node.value if holds else OPPOSITE[node.value]
        mirrored = _MIRRORED[sign]
        found = _ordered(run, (left, sign, right), view, holds=holds)
        return None if found is None else _ordered(run, (right, mirrored, left), found, holds=holds)
    same = (node.value == "==") is holds
    found = _side(run, left, right, view, (same, holds))
    return None if found is None else _side(run, right, left, found, (same, holds))


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _ordered(
    run: TypeWalk, compared: tuple[Node, str, Node], view: TypeScope, *, holds: bool
) -> TypeScope | None:
    """`node sign other`; where it has not held, that may be an error of something else."""
    node, sign, other = compared
    if node.kind == "literal":
        return view
    number = run.quietly(other, view) if other.kind in ("literal", "call") else ANY
    if not number.kinds & NUMBER or not (holds or number.kinds == NUMBER):
        return view
    within = Type(
        NUMBER if holds else ANY.kinds | FAULT,
        bounds=beside(sign, reduce(Interval.hull, number.intervals)),
    )
    found = _given(run, node, view) if holds else view
    return None if found is None else refined(run, found, node, lambda mine: _part(mine, within))


def _part(kind: Type, within: Type) -> Type:
    """What lies within; a kind of which nothing does is a mistake, reported where it is made."""
    return met(kind, within) if kind.kinds & within.kinds & ~FAULT else kind


def _side(
    run: TypeWalk, node: Node, other: Node, view: TypeScope, sense: tuple[bool, bool]
) -> TypeScope | None:
    same, holds = sense
    if node.kind in ("literal", "current", "root"):
        return view
    if other.kind == "literal":
        found: TypeScope | None = view
        if node.kind == "call" and node.value == "type":
            found = _of_type(run, node.children[0], other.value, view, same=same)
        if found and holds and view.strict and same is (other.value is not None):
            found = _given(run, node, found)
        change = _to_literal(other, view.strict, same=same, holds=holds)
        return None if found is None else refined(run, found, node, change)
    if not (same and holds and view.strict):
        return view
    kind = run.quietly(other, view)
    return refined(run, view, node, lambda mine: _equal(mine, kind))


def _of_type(
    run: TypeWalk, node: Node, word: JSON, view: TypeScope, *, same: bool
) -> TypeScope | None:
    """`type(node) == 'array'` and its like; what is absent is null there."""
    bits = WORD_BITS.get(str(word), 0)
    bits |= ABSENT if bits & NULL else 0
    kept = (bits if same else EVERYTHING & ~bits) | FAULT
    return refined(run, view, node, lambda kind: with_kinds(kind, kind.kinds & kept))


def _to_literal(literal: Node, strict: bool, *, same: bool, holds: bool) -> Change:
    if literal.value is None:
        kept = NOTHING | FAULT if same else ~NOTHING
        return lambda kind: with_kinds(kind, kind.kinds & kept)
    value = constant(literal.value)
    if same and holds:
        return lambda kind: _equal(kind, value)
    if same:  # what was compared with `!=` may have been absent, which is an error, not false
        return lambda kind: with_kinds(
            equal := _equal(kind, value), equal.kinds | kind.kinds & (ABSENT | FAULT)
        )
    return lambda kind: _without(kind, value, present=strict and holds)


def _equal(kind: Type, other: Type) -> Type:
    """The kind where it equals the other; if their kinds differ that is reported elsewhere."""
    return narrowed_to(kind, other) if kind.kinds & other.kinds & JSON_KINDS else kind


def _without(kind: Type, value: Type, *, present: bool) -> Type:
    """The kind, less one constant; an absent field is compared with nothing."""
    kind = less(kind, value.texts or value.numbers or frozenset())
    kind = with_kinds(kind, kind.kinds & ~(value.kinds & BOOLEAN))
    return with_kinds(kind, kind.kinds & ~ABSENT) if present else kind


def _present_and_true(kind: Type) -> Type:
    left = with_kinds(kind, kind.kinds & ~(NOTHING | FALSE))
    return less(left, _EMPTY) if left.kinds & TEXT else left


def falsy(kind: Type) -> Type:
    """The part of it that tests as false, or fails."""
    return met(with_kinds(kind, kind.kinds & ~(TRUE | NUMBER)), _FALSY)


_EMPTY = frozenset({""})
_SEARCHES = frozenset({"contains", "starts_with", "ends_with"})
"""In an empty text they find no text but the empty one."""
_FALSY = Type(ANY.kinds | FAULT, texts=_EMPTY)


# -- calls


def _called(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """A function that gave something was given what it takes."""
    function = FUNCTIONS[node.value]
    if function.name == "exists":
        there = node.children[0]
        return refined(run, view, there, lambda kind: with_kinds(kind, kind.kinds & ~ABSENT))
    if function.lazy:
        return view
    found: TypeScope | None = view
    for at, argument in enumerate(node.children):
        if found is None:
            return None
        bits = allowed(function.parameter(at).types)
        if function.parameter(at).subject or not bits & NULL:
            found = _given(run, argument, found)
            if found is not None:
                found = refined(run, found, argument, _only(bits & ~NOTHING))
    return found


def _given(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """What is known where the node is there and not null."""
    return _called(run, node, view) if node.kind == "call" else view


def _found(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """What is known where a text was found in the first operand, or is one of a list."""
    searched, wanted = node.children
    if wanted.kind == "literal" and wanted.value:
        return refined(run, view, searched, not_empty)
    return _contained(run, node, view) if node.value == "contains" else view


def _contained(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """`contains(['a', 'b'], path)`: the path is one of them."""
    held, searched = node.children
    if held.kind not in ("literal", "select_list") or path_of(searched) is None:
        return view
    kind = run.quietly(held, view)
    if kind.kinds != LIST or kind.item is None:
        return view
    item = kind.item
    return refined(run, view, searched, lambda mine: _equal(mine, item))


def _only(bits: int) -> Change:
    """Only these kinds; a kind that has none of them is a mistake, reported where it is made."""

    def only(kind: Type) -> Type:
        left = kind.kinds & (bits | FAULT)
        return with_kinds(kind, left) if left & bits else kind

    return only
