"""What is known of a path once a condition has held, or has not."""

from collections import ChainMap
from collections.abc import Callable, Mapping

import msgspec

from router.expressions.nodes import Node, path_of
from router.expressions.signatures import FUNCTIONS
from router.typing.lattice import (
    ABSENT,
    BOOLEAN,
    FALSE,
    FAULT,
    JSON_KINDS,
    LIST,
    NEVER,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Type,
    constant,
    join,
    narrowed_to,
    position,
    step,
    with_kinds,
)
from router.typing.run import TypeScope, TypeWalk

Change = Callable[[Type], Type]

_BITS = {
    "any": JSON_KINDS,
    "null": NULL,
    "boolean": BOOLEAN,
    "number": NUMBER,
    "string": TEXT,
    "array": LIST,
    "object": OBJECT,
    "expref": JSON_KINDS,
}


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
            return _compared(run, node, view, holds=True)
        case "call":
            return _called(run, node, view)
    return _refined(view, node, _present_and_true)


def when_false(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """The view once the node has not held, be it false or an error; None if it always holds."""
    match node.kind:
        case "or":
            return _in_turn(run, node, view, when_false)
        case "not":
            return when_true(run, node.children[0], view)
        case "compare":
            return _compared(run, node, view, holds=False)
    return view


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
    return msgspec.structs.replace(a, root=_join_roots(a.root, b.root), here=here)


def _join_roots(a: Type, b: Type) -> Type:
    if a is b:
        return a
    fields = dict(a.fields)
    for name, kind in b.fields.items():
        mine = fields.get(name, kind)
        # The names below these roots are lazy or fixed: what was learnt of them is let go.
        fields[name] = kind if kind is mine or kind.label else join(mine, kind)
    return msgspec.structs.replace(a, fields=fields)


# -- comparisons


def _compared(run: TypeWalk, node: Node, view: TypeScope, *, holds: bool) -> TypeScope | None:
    left, right = node.children
    if node.value in ("<", "<=", ">", ">="):
        if not holds:
            return view
        found = _refined(view, left, _only(NUMBER))
        return None if found is None else _refined(found, right, _only(NUMBER))
    same = (node.value == "==") is holds
    found = _side(run, left, right, view, (same, holds))
    return None if found is None else _side(run, right, left, found, (same, holds))


def _side(
    run: TypeWalk, node: Node, other: Node, view: TypeScope, sense: tuple[bool, bool]
) -> TypeScope | None:
    same, holds = sense
    if path_of(node) is None or node.kind in ("literal", "current", "root"):
        return view
    if other.kind == "literal":
        return _refined(view, node, _to_literal(other, view.strict, same=same, holds=holds))
    if not (same and holds and view.strict):
        return view
    kind = run.quietly(other, view)
    return _refined(view, node, lambda mine: _equal(mine, kind))


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
    """The kind, less one text; an absent field is compared with nothing."""
    if kind.texts is not None and value.texts is not None:
        left = kind.texts - value.texts
        kind = msgspec.structs.replace(
            kind, kinds=kind.kinds if left else kind.kinds & ~TEXT, texts=left
        )
    return with_kinds(kind, kind.kinds & ~ABSENT) if present else kind


def _present_and_true(kind: Type) -> Type:
    left = with_kinds(kind, kind.kinds & ~(NOTHING | FALSE))
    if left.texts is not None and "" in left.texts:
        return msgspec.structs.replace(left, texts=left.texts - {""})
    return left


# -- calls


def _called(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """A function that gave true was given what it takes."""
    function = FUNCTIONS[node.value]
    if function.name == "exists":
        return _refined(view, node.children[0], lambda kind: with_kinds(kind, kind.kinds & ~ABSENT))
    if function.lazy:
        return view
    found: TypeScope | None = view
    for at, argument in enumerate(node.children):
        if found is None:
            return None
        bits = allowed(function.parameter(at).types)
        if function.parameter(at).subject or not bits & NULL:
            found = _refined(found, argument, _only(bits & ~NOTHING))
    if function.name == "contains" and found is not None:
        return _contained(run, node, found)
    return found


def _contained(run: TypeWalk, node: Node, view: TypeScope) -> TypeScope | None:
    """`contains(['a', 'b'], path)`: the path is one of them."""
    held, searched = node.children
    if held.kind not in ("literal", "select_list") or path_of(searched) is None:
        return view
    kind = run.quietly(held, view)
    if kind.kinds != LIST or kind.item is None:
        return view
    item = kind.item
    return _refined(view, searched, lambda mine: _equal(mine, item))


def _only(bits: int) -> Change:
    """Only these kinds; a kind that has none of them is a mistake, reported where it is made."""

    def only(kind: Type) -> Type:
        left = kind.kinds & (bits | FAULT)
        return with_kinds(kind, left) if left & bits else kind

    return only


# -- paths


def _refined(view: TypeScope, node: Node, change: Change) -> TypeScope | None:
    """The view with the type of a plain path changed; None if nothing is left of it."""
    if (path := path_of(node)) is None or not path[1]:
        return view
    rooted, keys = path
    if rooted or view.here is None:
        root = _changed(view.root, keys, change)
        return None if not root.kinds else msgspec.structs.replace(view, root=root)
    here = _changed(view.here, keys, change)
    return None if not here.kinds else msgspec.structs.replace(view, here=here)


def _changed(base: Type, keys: tuple[str | int, ...], change: Change) -> Type:
    if not keys:
        return change(base)
    key, rest = keys[0], keys[1:]
    if isinstance(key, int):
        inner = _changed(position(base), rest, change)
        if inner.kinds & (NOTHING | FAULT):
            return base
        return with_kinds(base, base.kinds & LIST) if inner.kinds else NEVER
    if key not in base.fields:
        return base  # a field that is not known does not become known by being read
    inner = _changed(step(base, key), rest, change)
    if not inner.kinds & ~FAULT:
        return NEVER
    sure = not inner.kinds & (NOTHING | FAULT)
    return msgspec.structs.replace(
        base,
        kinds=base.kinds & OBJECT if sure else base.kinds,
        fields=_with(base, {key: inner}),
        stated=base.stated and not sure,
    )


def _with(base: Type, fields: dict[str, Type]) -> Mapping[str, Type]:
    if base.label == "def":  # lazy: a copy would infer every definition
        return ChainMap(fields, base.fields)  # type: ignore[arg-type]
    return {**base.fields, **fields}
