"""Reading a field: whether it is there, and what was probably meant if not."""

from collections.abc import Iterator
from functools import partial
from operator import itemgetter

from router.expressions import hint_of_field
from router.expressions.nodes import Node
from router.suggest import as_text, closest, is_sure, meaning
from router.typing.lattice import (
    ABSENT,
    ANY,
    FAULT,
    LIST,
    OBJECT,
    PRESENT,
    Type,
    elements,
    step,
    with_kinds,
    word,
)
from router.typing.run import TypeScope, TypeWalk, span_of

_NAMES_OF_ROOTS = frozenset({"payload", "def", "var"})
"""Roots that are so much ours that a field of an unknown element hardly has the name."""
_TEXT_ROOTS = frozenset({"event", "topic", "action"})
_WITH_DOMAIN = ("email", "url")
_DEPTH_MAX = 6
_SHOWN_MAX = 8
_ENOUGH = 5
"""Letters of a name that is sought in nearly the same writing anywhere in the payload."""


def read_field(run: TypeWalk, node: Node, view: TypeScope, *, first: bool) -> Type:
    """The type of the field `node` of the current value; `first` in its path."""
    base, name = view.current, str(node.value)
    span = span_of(node)
    run.visited.add(span)
    if base.label is not None and name not in base.fields:
        return ANY  # the names of roots are checked where they are compiled
    if base.is_any:
        _root_meant(run, node, view, first=first)
        return step(base, name)
    if not base.kinds & OBJECT:
        return _of_no_object(run, node, view)
    if name in base.fields:
        run.fine.add(span)
    elif base.partial:
        _nearly(run, node, view)
        return _anything(base)
    elif base.rest is None or (base.fields and base.rest.is_any):
        _unknown(run, node, view, first=first)
        return _anything(base)
    return step(base, name)


def _of_no_object(run: TypeWalk, node: Node, view: TypeScope) -> Type:
    base, said = view.current, view.said or "this"
    if not base.kinds & PRESENT:
        return Type(ABSENT | base.kinds & FAULT, stated=base.stated)
    name = str(node.value)
    meant = hint_of_field(name, said)
    if said in _TEXT_ROOTS:
        meant = f"a field of the event is written payload.{name}"
    elif meant is None and (found := _found_at(run, view.at(base, "payload"), name, near=False)):
        meant = f"did you mean {found}?"
    if base.kinds & LIST:
        message = f"{said} is a list and has no field '{node.value}'"
        hint = f"for the '{node.value}' of every element write {said}[].{node.value}"
        run.note(
            "field-of-list",
            message,
            node,
            hint if name in elements(base).fields else meant or f"its elements are {said}[]",
        )
    else:
        message = f"{said} is {word(base)} and has no field '{node.value}'"
        run.note(
            "field-of-value",
            message,
            node,
            meant or (f"domain_of({said}) is its domain" if base.format in _WITH_DOMAIN else None),
        )
    return _anything(base)


def _anything(base: Type) -> Type:
    """After a mistake nothing more is known, so that it is reported once."""
    return with_kinds(ANY, ANY.kinds | base.kinds & FAULT)


# -- unknown names


def _unknown(run: TypeWalk, node: Node, view: TypeScope, *, first: bool) -> None:
    """Says what is wrong."""
    if _root_meant(run, node, view, first=first) or _word_meant(run, node):
        return
    base, name = view.current, str(node.value)
    said = view.said or "the current value"
    path = _path_from_payload(view.said, name)
    others = sorted(run.clues.elsewhere(path)) if path else []
    near = [] if others else closest(name, sorted(base.fields))
    message = f"{said} has no field '{name}'"
    if base.rest is None:
        known = ", ".join(sorted(base.fields)[:_SHOWN_MAX])
        run.note(
            "unknown-name",
            message,
            node,
            meaning(name, near) or (f"known names: {known}" if known else None),
        )
        return
    advice = partial(_elsewhere, run, view, name, near, others)
    if near:
        run.note("misspelt-field", message, node, advice, sure=is_sure(name, near[0]))
    elif others:
        run.warn("unknown-field", f"{message} in these events", node, advice)
    else:
        run.warn("unknown-field", f"no known field '{name}' in {said}", node, advice)


def _elsewhere(
    run: TypeWalk, view: TypeScope, name: str, near: list[str], others: list[str]
) -> str | None:
    """What was probably meant: where the name is, one that is near, or another event."""
    found = _found_at(run, view, name, near=not near)
    if near:
        return f"did you mean {found}, or '{near[0]}'?" if found else meaning(name, near)
    hints = [f"did you mean {found}?"] if found else []
    if others:
        events = ", ".join(others[:_SHOWN_MAX])
        hints.append(f"{'Events' if found else 'events'} that have it: {events}")
    return " ".join(hints) or None


def _nearly(run: TypeWalk, node: Node, view: TypeScope) -> None:
    """
    Where others may come, a name is doubtful that is near another; and, unless no more is known
    than a sample, one that only other events have.
    """
    base, said, name = view.current, view.said or "the current value", str(node.value)
    path = _path_from_payload(view.said, name)
    others = sorted(run.clues.elsewhere(path)) if path else []
    near = [] if others else closest(name, sorted(base.fields))
    in_shape = base.surely(OBJECT)
    if near:
        known_by = "sender" if in_shape else "sample of this event"
        message = f"the {known_by} has no '{name}' in {said}"
        run.warn("misspelt-field", message, node, meaning(name, near))
    elif others and in_shape:
        message = f"{said} has no field '{name}' in these events"
        hint = f"events that have it: {', '.join(others[:_SHOWN_MAX])}"
        run.warn("unknown-field", message, node, hint)


def _path_from_payload(said: str, name: str) -> tuple[str, ...]:
    """The path below `payload`, if it is a plain one."""
    first, *way = said.split(".")
    if first != "payload" or not all(part.replace("_", "a").isalnum() for part in way):
        return ()
    return (*way, name)


def _root_meant(run: TypeWalk, node: Node, view: TypeScope, *, first: bool) -> bool:
    name = node.value
    if not first or view.here is None or name not in view.root.fields:
        return False
    message = f"'{name}' here is a field of {view.said or 'the current value'}, not the root"
    hint = f"the root is $.{name}"
    if view.current.is_any:
        if name in _NAMES_OF_ROOTS:
            run.warn("root-in-filter", message, node, hint)
        return False
    run.note("root-in-filter", message, node, hint)
    return True


def _word_meant(run: TypeWalk, node: Node) -> bool:
    """A name in double quotes, or a bare word after a comparison, where a text is likelier."""
    if span_of(node) not in run.words:
        return False
    name = str(node.value)
    if run.text[node.start : node.start + 1] == '"':
        message = f'"{name}" in double quotes is the name of a field, not a text'
    else:
        message = f"'{name}' is a bare word and means a field, not a text"
    run.note("bare-word", message, node, as_text(name))
    return True


def _found_at(run: TypeWalk, view: TypeScope, name: str, *, near: bool) -> str | None:
    """Where else this name is: the root of that name, or somewhere in the payload."""
    if (payload := view.root.fields.get("payload")) is None:
        return None
    source = run.clues.made_of.get(name)
    if source and source.split(".")[0] in payload.fields:
        return f"{name}, which is made of payload.{source}"
    if name in view.root.fields and not source:
        return f"{name}, without payload"
    related = [
        [(path, kind) for path, kind in level if _related(path, view.said)]
        for level in _levels(payload)
    ]
    found = next((one for level in related if (one := _fullest(level, name))), None)
    if found is None and near and len(name) >= _ENOUGH:
        found = next((one for level in related if (one := _nearest_in(level, name))), None)
    of_element = "[" in view.said and found is not None and not found.startswith(view.said)
    return f"$.{found}" if of_element else found


def _related(path: str, said: str) -> bool:
    """Whether an object is above or below the one that is read, as all are of the payload."""
    return path.startswith(said) or said.startswith(path)


def _fullest(level: list[tuple[str, Type]], name: str) -> str | None:
    """The path of this name in the object with the most fields that has it; `a_b` is `a.b` too."""
    having = [
        (len(kind.fields), f"{path}.{field}")
        for path, kind in level
        for field in (name, name.removeprefix(f"{path.split('.')[-1]}_"))
        if field in kind.fields
    ]
    return max(having, key=itemgetter(0))[1] if having else None


def _nearest_in(level: list[tuple[str, Type]], name: str) -> str | None:
    for path, kind in level:
        others = closest(name, kind.fields)
        if others and is_sure(name, others[0]):
            return f"{path}.{others[0]}"
    return None


def _levels(payload: Type) -> Iterator[list[tuple[str, Type]]]:
    """Every object of the payload with its path, those of one depth together."""
    level = [("payload", payload)]
    for _ in range(_DEPTH_MAX):
        yield level
        below: list[tuple[str, Type]] = []
        for path, kind in level:
            for name, child in kind.fields.items():
                if child.fields:
                    below.append((f"{path}.{name}", child))
                elif child.item is not None and child.item.fields:
                    below.append((f"{path}.{name}[]", child.item))
        level = below


def mark_words(run: TypeWalk, nodes: tuple[Node, ...], *, right_is_word: bool) -> None:
    """Which operands or arguments may be texts that lack their quotes."""
    for at, node in enumerate(nodes):
        quoted = run.text[node.start : node.start + 1] == '"'
        if node.kind == "field" and (quoted or (right_is_word and at == 1)):
            run.words.add(span_of(node))
