"""What the parts of an expression that read values may give."""

import re
from collections.abc import Callable

import msgspec

from router.expressions.nodes import Node
from router.expressions.value import is_test
from router.typing.equality import truth
from router.typing.fields import read_field
from router.typing.lattice import (
    ABSENT,
    FALSE,
    FAULT,
    LIST,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    PRESENT,
    TEXT,
    TRUE,
    Type,
    closed_object,
    contents,
    elements,
    in_list,
    join,
    joined,
    list_of,
    position,
    stored,
    with_kinds,
    word,
)
from router.typing.narrow import Narrow, when_false, when_true
from router.typing.run import TypeScope, TypeWalk, denied, span_of

_TAKEN = re.compile(r"\[[-\d:]+]")
_PROJECTION = re.compile(r"\[[]*?]")


def of_chain(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    first, *others = node.children
    kind = run.value(first, view)
    end = first.end
    begin = node.start if view.begin is None else view.begin
    for child in others:
        below = view.at(kind, _said(run, view, node.start, end, rooted=first.kind == "root"), begin)
        if child.kind == "field":
            kind = read_field(run, child, below, first=False)
        else:
            kind = run.value(child, below)
        end = child.end
    return kind


def _said(run: TypeWalk, view: TypeScope, start: int, end: int, *, rooted: bool) -> str:
    text = "".join(run.text[start:end].split())
    if rooted:
        return text.removeprefix("$.")
    inner = view.here is not None and view.said and not view.said.endswith("]")
    return f"{view.said}.{text}" if inner and len(view.said) + len(text) < 80 else text


def of_pipe(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    kind = view.current
    for at, child in enumerate(node.children):
        kind = run.value(
            child, view if at == 0 else view.at(kind, run.source(node.children[at - 1]))
        )
    return kind


# -- lists


def _list_read(run: TypeWalk, node: Node, view: TypeScope, *, what: str | None) -> Type:
    """What is read as a list; a finding (`what` follows) if it surely is none. None: no finding."""
    kind = run.value(node, view)
    if what is None or not kind.kinds & (LIST | PRESENT):
        return kind
    if kind.kinds & LIST:
        if not kind.is_any:
            run.fine.add(span_of(node))
        return kind
    said, hint = run.source(node, view), None
    if not said:
        said, hint = "the whole event", "a list of one number has backticks: [`1`]"
    batch = run.clues.batch
    if batch is not None and said == ("payload" if not batch else f"payload.{batch}"):
        run.warn(
            "not-a-list",
            f"each event is one element of it already, so {said} is no list here",
            node,
            "the element's own fields are payload.FIELD",
        )
        return kind
    if kind.format == "joined":
        hint = f"its parts are split({said}, ',')"
    elif (
        view.begin is not None
        and _PROJECTION.search(said)
        and (taken := _TAKEN.match(run.text, node.end))
    ):
        message = f"{taken[0]} is read of each element here, and each is {word(kind)}, not a list"
        run.note(
            "not-a-list", message, node, f"write {said} | {taken[0]} to read it of all of them"
        )
        return kind
    elif hint is None and kind.kinds & OBJECT:
        hint = f"the values of all its fields are {said}.*"
    run.note("not-a-list", f"{said} is {word(kind)}, not a list, so {what}", node, hint)
    return kind


def of_index(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    return position(_list_read(run, node.children[0], view, what="it has no positions"))


def of_slice(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    kind = _list_read(run, node.children[0], view, what="it cannot be sliced")
    return list_of(elements(kind), _list_kinds(kind))


def of_flatten(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    kind = _list_read(run, node.children[0], view, what="this gives nothing")
    inner = elements(kind)
    if inner.kinds & LIST:
        rest = with_kinds(inner, inner.kinds & ~LIST)
        inner = join(elements(inner), rest) if rest.kinds else elements(inner)
    return list_of(inner, _list_kinds(kind))


def _list_kinds(kind: Type) -> int:
    """A list, absent where there was none."""
    return kind.kinds & (LIST | FAULT) | (ABSENT if kind.kinds & ~(LIST | FAULT) else 0)


def _below(run: TypeWalk, source: Node, view: TypeScope, item: Type) -> TypeScope:
    said = _said(run, view, source.start, source.end, rooted=False)
    return view.at(with_kinds(item, item.kinds & ~FAULT), f"{said.removesuffix('[]')}[]")


def of_list_projection(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    """A filter is a projection with a condition."""
    source, right, *conditions = node.children
    what = "it cannot be filtered" if conditions else "this gives nothing"
    made_here = not conditions and source.kind in ("flatten", "slice")
    kind = _list_read(run, source, view, what=None if made_here else what)
    if not kind.kinds & LIST:
        return Type(_list_kinds(kind))
    seen = below = _below(run, source, view, elements(kind))
    for condition in conditions:
        run.verdict(condition, below)
        seen = when_true(run, condition, below) or below
    begin = node.start if view.begin is None else view.begin
    read = run.value(right, msgspec.structs.replace(seen, begin=begin))
    fault = FAULT if conditions and not view.strict else read.kinds & FAULT
    return list_of(in_list(read), _list_kinds(kind) | fault)


def of_value_projection(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    source, right = node.children
    kind = run.value(source, view)
    if not kind.kinds & OBJECT:
        if kind.kinds & PRESENT:
            run.note(
                "not-a-list",
                f"{run.source(source, view)} is {word(kind)} and has no fields",
                source,
            )
        return Type(ABSENT | kind.kinds & FAULT)
    item = contents(kind)
    read = run.value(right, view.at(stored(item), f"{run.source(source)}.*"))
    absent = ABSENT if kind.kinds & ~(OBJECT | FAULT) else 0
    return list_of(in_list(read), LIST | absent | (kind.kinds | item.kinds | read.kinds) & FAULT)


# -- selections


def _selected(run: TypeWalk, node: Node, view: TypeScope) -> tuple[list[Type], int]:
    """The types in a selection, where every path begins anew; of null nothing is selected."""
    inside = view if view.here is None else view.at(view.here, view.said)
    found = [run.value(child, inside) for child in node.children]
    current = view.current.kinds
    absent = ABSENT if current & NOTHING else 0
    return [stored(one) for one in found], absent | (joined(found).kinds | current) & FAULT


def of_select_list(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    found, bits = _selected(run, node, view)
    return list_of(joined(found), LIST | bits)


def of_select_hash(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    found, bits = _selected(run, node, view)
    return with_kinds(closed_object(dict(zip(node.value, found, strict=True))), OBJECT | bits)


# -- logic


def _falsy(kind: Type) -> Type:
    """The part of it that tests as false."""
    kept = with_kinds(kind, kind.kinds & ~(TRUE | NUMBER))
    if kept.kinds & TEXT and kind.texts is not None and "" not in kind.texts:
        kept = with_kinds(kept, kept.kinds & ~TEXT)
    return kept


_LOGIC: dict[str, tuple[int, Callable[[Type], Type], Narrow]] = {
    "or": (FALSE, lambda kind: with_kinds(kind, kind.kinds & ~(NOTHING | FALSE)), when_false),
    "and": (TRUE, _falsy, when_true),
}


def of_logic(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    """
    The first operand that decides, else the last: one whose truth `passes` lets the next be read,
    which then sees `onwards`; the part of it that is `deciding` may be the value.
    """
    if view.strict and is_test(node):
        return Type(run.verdict(node, view))
    passes, deciding, onwards = _LOGIC[node.kind]
    found: list[Type] = []
    seen: TypeScope | None = view
    for at, child in enumerate(node.children):
        if seen is None:
            break
        kind = run.value(child, seen)
        found.append(kind if at == len(node.children) - 1 else deciding(kind))
        if not truth(kind) & passes:
            break
        seen = onwards(run, child, seen)
    return joined(found)


def of_not(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    if view.strict:
        return Type(run.verdict(node, view))
    return Type(denied(truth(run.value(node.children[0], view))))


def of_compare(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    verdict = run.verdict(node, view)
    if view.strict:
        return Type(verdict)
    return Type(verdict | (NULL if node.value not in ("==", "!=") else 0))
