"""
A tree into closures that read values: JMESPath, with absent fields kept apart from null.

A closure takes the current value and the scope (`$`), and returns a JSON value or ABSENT. It may
raise EvaluationError. What a comparison and a condition mean is up to the `Semantics`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from router.errors import EvaluationError
from router.expressions.absent import ABSENT, JSON, Lazy
from router.expressions.compare import is_true
from router.expressions.nodes import Node, path_of

Run = Callable[[Any, Any], Any]

LIST_MAX = 1_000_000


class Semantics(msgspec.Struct, frozen=True):
    """
    How the parts with two meanings are compiled.

    `logic` compiles comparisons and `!` as values, and `&&` and `||` too where all their parts are
    tests and `absorbs` is set (one false outweighs an error); `condition` gives True for the
    elements a filter keeps; `verdict` compiles what `if` asks; `call` compiles a function call.
    `whole`: what has an absent part is absent itself, as a key needs it.
    """

    absorbs: bool
    logic: Callable[[Node, "Semantics"], Run]
    condition: Callable[[Node], Run]
    verdict: Callable[[Node], Run]
    call: Callable[[Node, "Semantics"], Run]
    whole: bool = False


def build(node: Node, reading: Semantics) -> Run:
    """The closure that reads this node."""
    if (path := path_of(node)) is None:
        return _BUILD[node.kind](node, reading)
    rooted, keys = path
    run = _build_keys(keys)
    return (lambda _x, s: run(s, s)) if rooted else run


def present(value: JSON) -> JSON:
    """The value as it is stored in lists and objects, where absent is null."""
    return None if value is ABSENT else value


def step(value: Any, name: str) -> Any:
    """One field of anything at all; absent unless the value is an object that has it."""
    if value.__class__ is dict:
        return value.get(name, ABSENT)
    if isinstance(value, Lazy):
        return value.take(name)
    if isinstance(value, dict):
        return value.get(name, ABSENT)
    return ABSENT


def _element(value: Any, position: int) -> Any:
    if isinstance(value, list) and -len(value) <= position < len(value):
        return value[position]
    return ABSENT


# -- paths


def _build_keys(keys: tuple[str | int, ...]) -> Run:
    if not keys:
        return lambda x, _s: x
    if len(keys) > 3 or not all(isinstance(key, str) for key in keys):
        return _build_long(keys)
    names: tuple[Any, ...] = keys
    return (_build_one, _build_two, _build_three)[len(keys) - 1](*names)


def _build_one(a: str) -> Run:
    def one(x: Any, _s: Any) -> Any:
        return x.get(a, ABSENT) if x.__class__ is dict else step(x, a)

    return one


def _build_two(a: str, b: str) -> Run:
    def two(x: Any, _s: Any) -> Any:
        x = x.get(a, ABSENT) if x.__class__ is dict else step(x, a)
        return x.get(b, ABSENT) if x.__class__ is dict else step(x, b)

    return two


def _build_three(a: str, b: str, c: str) -> Run:
    def three(x: Any, _s: Any) -> Any:
        x = x.get(a, ABSENT) if x.__class__ is dict else step(x, a)
        x = x.get(b, ABSENT) if x.__class__ is dict else step(x, b)
        return x.get(c, ABSENT) if x.__class__ is dict else step(x, c)

    return three


def _build_long(keys: tuple[str | int, ...]) -> Run:
    def long(x: Any, _s: Any) -> Any:
        for key in keys:
            x = step(x, key) if key.__class__ is str else _element(x, key)  # type: ignore[arg-type]
        return x

    return long


# -- steps


def _literal(node: Node, _: Semantics) -> Run:
    value = node.value
    return lambda _x, _s: value


def _merged(children: tuple[Node, ...]) -> list[Node]:
    """The children, with runs of plain fields made one path."""
    merged: list[Node] = []
    for child in children:
        joined = Node("chain", child.start, child.end, None, (*merged[-1:], child))
        if merged and path_of(joined) is not None:
            merged[-1] = joined
        else:
            merged.append(child)
    return merged


def _in_turn(nodes: Sequence[Node], reading: Semantics) -> Run:
    runs = [build(node, reading) for node in nodes]
    if len(runs) == 2:
        first, second = runs
        return lambda x, s: second(first(x, s), s)

    def in_turn(x: Any, s: Any) -> Any:
        for run in runs:
            x = run(x, s)
        return x

    return in_turn


def _index(node: Node, reading: Semantics) -> Run:
    source, position = build(node.children[0], reading), node.value
    return lambda x, s: _element(source(x, s), position)


def _slice(node: Node, reading: Semantics) -> Run:
    source, piece = build(node.children[0], reading), slice(*node.value)

    def take(x: Any, s: Any) -> Any:
        value = source(x, s)
        return value[piece] if isinstance(value, list) else ABSENT

    return take


def _flatten(node: Node, reading: Semantics) -> Run:
    source = build(node.children[0], reading)

    def flatten(x: Any, s: Any) -> Any:
        value = source(x, s)
        if not isinstance(value, list):
            return ABSENT
        flat: list[Any] = []
        for item in value:
            if isinstance(item, list):
                flat.extend(item)
            else:
                flat.append(item)
            if len(flat) > LIST_MAX:
                raise EvaluationError(f"a list would have more than {LIST_MAX:,} elements")
        return flat

    return flatten


# -- projections


def _list_projection(node: Node, reading: Semantics) -> Run:
    source, gathered = build(node.children[0], reading), _gathering(node, reading)

    def project(x: Any, s: Any) -> Any:
        value = source(x, s)
        return gathered(value, s) if isinstance(value, list) else ABSENT

    return project


def _gathering(node: Node, reading: Semantics) -> Run:
    """The closure that reads the right side of a projection of each element; it leaves out null."""
    right = build(node.children[1], reading)
    if not reading.whole:
        return lambda items, s: [
            one for item in items if (one := right(item, s)) is not None and one is not ABSENT
        ]

    def gathered(items: Any, s: Any) -> Any:
        found = [one for item in items if (one := right(item, s)) is not None]
        return _whole(found)

    return gathered


def _whole(parts: list[Any]) -> Any:
    """The parts; ABSENT if one of them is."""
    return ABSENT if any(part is ABSENT for part in parts) else parts


def _value_projection(node: Node, reading: Semantics) -> Run:
    source, gathered = build(node.children[0], reading), _gathering(node, reading)

    def project(x: Any, s: Any) -> Any:
        value = source(x, s)
        if isinstance(value, Lazy):
            value = value.everything()
        return gathered(value.values(), s) if isinstance(value, dict) else ABSENT

    return project


def _filter(node: Node, reading: Semantics) -> Run:
    source, gathered = build(node.children[0], reading), _gathering(node, reading)
    keeps = reading.condition(node.children[2])

    def select(x: Any, s: Any) -> Any:
        value = source(x, s)
        if not isinstance(value, list):
            return ABSENT
        return gathered((item for item in value if keeps(item, s) is True), s)

    return select


# -- selections


def _select_list(node: Node, reading: Semantics) -> Run:
    runs = [build(child, reading) for child in node.children]

    def select(x: Any, s: Any) -> Any:
        if x is None or x is ABSENT:
            return ABSENT
        if not reading.whole:
            return [present(run(x, s)) for run in runs]
        found = [run(x, s) for run in runs]
        return _whole(found)

    return select


def _select_hash(node: Node, reading: Semantics) -> Run:
    names, listed = node.value, _select_list(node, reading)

    def select(x: Any, s: Any) -> Any:
        found = listed(x, s)
        return ABSENT if found is ABSENT else dict(zip(names, found, strict=True))

    return select


# -- logic


def is_test(node: Node) -> bool:
    """Whether the node can give nothing but true, false or an error."""
    if node.kind in ("and", "or"):
        return all(map(is_test, node.children))
    return node.kind in ("compare", "not")


def _logic(node: Node, reading: Semantics) -> Run:
    """The first part that is true, of `&&` the first that is false; else the last."""
    if reading.absorbs and is_test(node):
        return reading.logic(node, reading)
    *firsts, last = [build(child, reading) for child in node.children]
    decisive = node.kind == "or"

    def first_of(x: Any, s: Any) -> Any:
        for run in firsts:
            value = run(x, s)
            if is_true(value) is decisive:
                return value
        return last(x, s)

    return first_of


_BUILD: dict[str, Callable[[Node, Semantics], Run]] = {
    "literal": _literal,
    "index": _index,
    "slice": _slice,
    "chain": lambda node, reading: _in_turn(_merged(node.children), reading),
    "pipe": lambda node, reading: _in_turn(node.children, reading),
    "flatten": _flatten,
    "list_projection": _list_projection,
    "value_projection": _value_projection,
    "filter": _filter,
    "select_list": _select_list,
    "select_hash": _select_hash,
    "or": _logic,
    "and": _logic,
    "not": lambda node, reading: reading.logic(node, reading),
    "compare": lambda node, reading: reading.logic(node, reading),
    "call": lambda node, reading: reading.call(node, reading),
}
