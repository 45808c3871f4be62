"""A view with more known of one node: of a field where it stands, of anything else as a fact."""

from collections import ChainMap
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from router.expressions.absent import JSON
from router.expressions.nodes import Node, path_of
from router.typing.equality import less
from router.typing.lattice import (
    FAULT,
    LIST,
    NEVER,
    NOTHING,
    OBJECT,
    Type,
    constant,
    position,
    step,
    with_kinds,
)
from router.typing.run import Fact, TypeScope, TypeWalk

Change = Callable[[Type], Type]


def refined(run: TypeWalk, view: TypeScope, node: Node, change: Change) -> TypeScope | None:
    """
    The view with what the node gives changed, be it a known field or anything else; None if
    nothing is left of it.
    """
    if (path := path_of(node)) is None:
        seen = _noted(run, view, node, change)
        onwards = None if seen is None else _onwards(node, change)
        return seen if onwards is None or seen is None else refined(run, seen, *onwards)
    rooted, keys = path
    if not keys:
        return view
    meant = view.defined(node) if keys[0] == "def" else None
    if meant is not None and path_of(meant.tree) is not None:
        inner = refined(run.inside(meant), replace(view, here=None, defines={}), meant.tree, change)
        view = view if inner is None else replace(view, root=inner.root)
    base = view.root if rooted or view.here is None else view.here
    found = _changed(base, keys, change)
    if found is base:
        return _noted(run, view, node, change)
    if not found.kinds:
        return None
    return replace(view, root=found) if base is view.root else replace(view, here=found)


_KEEP_EMPTY = frozenset({"lower", "upper", "trim"})
"""They make an empty text of an empty one, and null of null."""


def _onwards(node: Node, change: Change) -> tuple[Node, Change] | None:
    """
    What is known of the first operand as well: `default(x, y)` that cannot be `y` is `x`, and where
    `lower(x)` can be neither empty nor null, `x` is neither.
    """
    if node.kind == "call" and node.value in _KEEP_EMPTY:
        either = _may_be(change, "") or _may_be(change, None)
        return None if either else (node.children[0], not_empty)
    if not (node.kind == "or" or (node.kind == "call" and node.value in ("default", "not_null"))):
        return None
    first, *others = node.children
    if len(others) != 1 or others[0].kind != "literal" or _may_be(change, others[0].value):
        return None
    return first, lambda kind: change(_there(kind))


def _may_be(change: Change, value: JSON) -> bool:
    return bool(change(constant(value)).kinds & ~FAULT)


def not_empty(kind: Type) -> Type:
    """What it is where it is there, and no empty text."""
    return less(_there(kind), frozenset({""}))


def _there(kind: Type) -> Type:
    return with_kinds(kind, kind.kinds & ~NOTHING)


def _noted(run: TypeWalk, view: TypeScope, node: Node, change: Change) -> TypeScope | None:
    kind = run.quietly(node, view)
    if (left := change(kind)) is kind:
        return view
    return replace(view, facts=(Fact(node, left), *view.facts)) if left.kinds & ~FAULT else None


def _changed(base: Type, keys: tuple[str | int, ...], change: Change) -> Type:
    if not keys:
        return change(base)
    key, rest = keys[0], keys[1:]
    if isinstance(key, int):
        return _changed_at(base, rest, change)
    if key not in base.fields:
        return base  # a field that is not known does not become known by being read
    before = step(base, key)
    inner = _changed(before, rest, change)
    if inner is before:
        return base
    if not inner.kinds & ~FAULT:
        return NEVER
    sure = not inner.kinds & (NOTHING | FAULT)
    return replace(
        base,
        kinds=base.kinds & OBJECT if sure else base.kinds,
        fields=_with(base, {key: inner}),
        stated=base.stated and not sure,
    )


def _changed_at(base: Type, rest: tuple[str | int, ...], change: Change) -> Type:
    """The list with what is learnt of it by an element of it."""
    before = position(base)
    inner = _changed(before, rest, change)
    if inner is before or inner.kinds & (NOTHING | FAULT):
        return base
    return with_kinds(base, base.kinds & LIST) if inner.kinds else NEVER


def _with(base: Type, fields: dict[str, Type]) -> Mapping[str, Type]:
    if base.label == "def":  # lazy: a copy would infer every definition
        return ChainMap(fields, base.fields)  # type: ignore[arg-type]
    return {**base.fields, **fields}
