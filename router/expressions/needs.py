"""What a condition needs to be true, as far as an index can use it; and what no index can use."""

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

import msgspec

from router.expressions.absent import ABSENT, JSON
from router.expressions.compare import exact, is_number
from router.expressions.expression import Expression
from router.expressions.nodes import Node, path_of

IndexKey = tuple[str, str | bool | int | Decimal]

_NO_VARIABLES: Mapping[str, JSON] = MappingProxyType({})


class FieldNeed(msgspec.Struct, frozen=True):
    """
    The condition can be true only if the field at `path` (names from the scope) is there and
    equals one of `values` (texts, numbers, booleans) or is a text that begins with one of
    `prefixes`.

    If it is there and does neither, the verdict is not True, whatever else holds or errs.
    """

    path: tuple[str, ...]
    values: tuple[JSON, ...]
    prefixes: tuple[str, ...] = ()

    def admits(self, value: JSON) -> bool:
        """Whether the field may have this value."""
        if isinstance(value, str) and value.startswith(self.prefixes):
            return True
        key = index_key(value)
        return key is not None and any(index_key(wanted) == key for wanted in self.values)


class UnusableCondition(msgspec.Struct, frozen=True):
    """A part of a condition that must hold, and why no index can look for it."""

    text: str
    why: str


def needs_of(
    expression: Expression, variables: Mapping[str, JSON] = _NO_VARIABLES
) -> tuple[FieldNeed, ...]:
    """
    What must be equal to, or begin with, something known: on the condition's AND spine, and of
    an `||` what all its alternatives say of one field. Known are literals and `variables`
    (`var.…`), which are the same for every event.
    """
    return _NeedReader(variables).needs(expression.tree)


def unusable_of(
    expression: Expression, variables: Mapping[str, JSON] = _NO_VARIABLES
) -> tuple[UnusableCondition, ...]:
    """The parts of the AND spine of which `needs_of` says nothing."""
    reader = _NeedReader(variables)
    spine = [expression.tree]
    found = list[UnusableCondition]()
    while spine:
        node = spine.pop()
        if node.kind == "and":
            spine.extend(reversed(node.children))
        elif not reader.needs(node):
            found.append(
                UnusableCondition(expression.text[node.start : node.end], reader.obstacle(node))
            )
    return tuple(found)


def alternatives(each: list[tuple[FieldNeed, ...]]) -> tuple[FieldNeed, ...]:
    """What is needed where one of several conditions must hold: their values on shared fields."""
    if not each:
        return ()
    first, *others = ({need.path: need for need in reversed(needs)} for needs in each)
    found = []
    for path in dict.fromkeys(need.path for need in each[0]):
        if all(path in other for other in others):
            same = [first[path], *(other[path] for other in others)]
            values = tuple(value for need in same for value in need.values)
            found.append(FieldNeed(path, values, tuple(p for need in same for p in need.prefixes)))
    return tuple(found)


def index_key(value: JSON) -> IndexKey | None:
    """A key that is equal exactly when the values are; None for what no index holds."""
    if isinstance(value, str):
        return "text", value
    if isinstance(value, bool):
        return "boolean", value
    return ("number", exact(value)) if is_number(value) else None


class _NeedReader:
    """Reads conditions, some variables known."""

    def __init__(self, variables: Mapping[str, JSON]) -> None:
        self._variables = variables

    def needs(self, node: Node) -> tuple[FieldNeed, ...]:
        """What the node needs to be true."""
        if node.kind == "and":
            return tuple(need for child in node.children for need in self.needs(child))
        if node.kind == "or":
            return alternatives([self.needs(child) for child in node.children])
        found = self._equality(node) if node.kind == "compare" else self._call(node)
        return () if found is None else (found,)

    def obstacle(self, node: Node) -> str:
        """Why it needs nothing that can be looked up."""
        if node.kind == "compare":
            return self._why_no_equality(node)
        if node.kind == "call":
            if node.value in ("starts_with", "glob"):
                return "it does not begin with a text that is known"
            return f"{node.value}() must be called to know"
        return _obstacle(node)

    def _known(self, node: Node) -> bool:
        return node.kind == "literal" or self._value(node) is not ABSENT

    def _value(self, node: Node) -> JSON:
        """Its value if that is the same for every event, else ABSENT."""
        if node.kind == "literal":
            return node.value
        if (names := _names(node)) is None or names[0] != "var" or len(names) < 2:
            return ABSENT
        value: JSON = self._variables
        for name in names[1:]:
            value = value.get(name, ABSENT) if isinstance(value, Mapping) else ABSENT
        return value

    def _equality(self, node: Node) -> FieldNeed | None:
        left, right = node.children
        if self._known(left):
            left, right = right, left
        names = _names(left)
        if node.value != "==" or names is None or self._known(left) or not self._known(right):
            return None
        value = self._value(right)
        return None if index_key(value) is None else FieldNeed(names, (value,))

    def _call(self, node: Node) -> FieldNeed | None:
        if node.kind != "call" or len(node.children) != 2:
            return None
        if node.value == "contains":
            return self._one_of(*node.children)
        names, text = _names(node.children[0]), self._value(node.children[1])
        if names is None or not isinstance(text, str):
            return None
        head, star, _ = text.partition("*")
        if node.value == "glob" and not star:
            return FieldNeed(names, (head,))
        prefix = {"starts_with": text, "glob": head}.get(node.value)
        return FieldNeed(names, (), (prefix,)) if prefix else None

    def _one_of(self, choices: Node, searched: Node) -> FieldNeed | None:
        """`contains(['a', 'b'], field)`."""
        names, values = _names(searched), self._value(choices)
        if choices.kind == "select_list":
            values = [self._value(child) for child in choices.children]
        if names is None or not isinstance(values, list):
            return None
        if any(index_key(value) is None for value in values):
            return None
        return FieldNeed(names, tuple(values))

    def _why_no_equality(self, node: Node) -> str:
        if node.value == "!=":
            return "!= says what must not be"
        if node.value != "==":
            return f"{node.value} is an order; only equality and beginnings are looked up"
        sides = [child for child in node.children if not self._known(child)]
        known = [self._value(child) for child in node.children if self._known(child)]
        if len(sides) != 1:
            return "two fields are compared with each other" if sides else "it is constant"
        if index_key(known[0]) is None:
            return "it is compared with null, a list or an object"
        return _why_no_names(sides[0])


def _names(node: Node) -> tuple[str, ...] | None:
    """A path of nothing but names."""
    if (path := path_of(node)) is None or not path[1]:
        return None
    names = tuple(key for key in path[1] if isinstance(key, str))
    return names if len(names) == len(path[1]) else None


# -- why not

_OBSTACLES = {
    "or": "an || whose alternatives do not all say what one same field is",
    "not": "a ! says what must not be",
    "pipe": "it looks behind a pipe",
    "literal": "it is constant",
    "filter": "it looks into a list",
    "flatten": "it looks into a list",
    "list_projection": "it looks into a list",
    "value_projection": "it looks into the values of an object",
}


def _obstacle(node: Node) -> str:
    if path_of(node) is not None:
        return "a bare field may hold anything"
    return _OBSTACLES.get(node.kind, "its value must be computed")


def _why_no_names(side: Node) -> str:
    if side.kind == "call":
        return "the result of a function is compared"
    if path_of(side) is not None:
        return "a position in a list is read"
    return _obstacle(side)
