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
    equals one of `values` (texts, numbers, booleans), or is a text that begins with one of
    `prefixes`, ends with one of `suffixes` or holds one of `parts`, or is a list that has one of
    `parts`.

    If it is there and does none of it, the verdict is not True, whatever else holds or errs. What
    errs with a field that cannot end with or hold anything is to be evaluated, so that it does.
    """

    path: tuple[str, ...]
    values: tuple[JSON, ...]
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    def admits(self, value: JSON) -> bool:
        """Whether the field may have this value (ABSENT: not be there) if the rule is to match."""
        if isinstance(value, str):
            if value.startswith(self.prefixes) or value.endswith(self.suffixes):
                return True
            return value in self.values or any(part in value for part in self.parts)
        if self.suffixes or self.parts:
            errs = not isinstance(value, list) or bool(self.prefixes or self.suffixes)
            return errs or any(part in value for part in self.parts)
        key = index_key(value)
        return key is not None and any(index_key(wanted) == key for wanted in self.values)

    @property
    def is_equality(self) -> bool:
        """Whether only values are wanted."""
        return not (self.prefixes or self.suffixes or self.parts)


class UnusableCondition(msgspec.Struct, frozen=True):
    """A part of a condition that must hold, and why no index can look for it."""

    text: str
    why: str


def needs_of(
    expression: Expression, variables: Mapping[str, JSON] = _NO_VARIABLES
) -> tuple[FieldNeed, ...]:
    """
    What must be equal to, begin or end with, or hold something known: on the condition's AND
    spine, and of an `||` what all its alternatives say of one field. Known are literals and
    `variables` (`var.…`), which are the same for every event.
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
            why = str(reader.leaf(node))
            found.append(UnusableCondition(expression.text[node.start : node.end], why))
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
            found.append(
                FieldNeed(
                    path,
                    tuple(value for need in same for value in need.values),
                    tuple(text for need in same for text in need.prefixes),
                    tuple(text for need in same for text in need.suffixes),
                    tuple(text for need in same for text in need.parts),
                )
            )
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
        found = self.leaf(node)
        return () if isinstance(found, str) else (found,)

    def leaf(self, node: Node) -> FieldNeed | str:
        """What it needs, or why that is nothing that can be looked up."""
        if node.kind == "compare":
            return self._equality(node)
        return self._call(node) if node.kind == "call" else _obstacle(node)

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

    def _equality(self, node: Node) -> FieldNeed | str:
        if node.value != "==":
            order = f"{node.value} is an order, which is not looked up"
            return "!= says what must not be" if node.value == "!=" else order
        sides = [(child, self._value(child)) for child in node.children]
        fields = [child for child, value in sides if value is ABSENT]
        if len(fields) != 1:
            return "two fields are compared with each other" if fields else "it is constant"
        [value] = (value for _, value in sides if value is not ABSENT)
        if index_key(value) is None:
            return "it is compared with null, a list or an object"
        if (names := _names(fields[0])) is not None:
            return FieldNeed(names, (value,))
        if fields[0].kind == "call":
            return "the result of a function is compared"
        return _obstacle(fields[0]) if path_of(fields[0]) is None else _POSITION

    def _call(self, node: Node) -> FieldNeed | str:
        why = f"{node.value}() must be called to know"
        if node.value in ("starts_with", "glob"):
            why = "it does not begin with a text that is known"
        if len(node.children) != 2:
            return why
        if node.value == "contains" and (need := self._one_of(*node.children)) is not None:
            return need
        names, text = _names(node.children[0]), self._value(node.children[1])
        if names is None or not isinstance(text, str):
            return why
        if node.value == "glob":
            text, star, _ = text.partition("*")
            if not star:
                return FieldNeed(names, (text,))
        field = _SOUGHT.get(node.value)
        return FieldNeed(names, (), **{field: (text,)}) if field and text else why

    def _one_of(self, choices: Node, searched: Node) -> FieldNeed | None:
        """`contains(['a', 'b'], field)`."""
        names, values = _names(searched), self._value(choices)
        if choices.kind == "select_list":
            values = [self._value(child) for child in choices.children]
        if names is None or not isinstance(values, list) or None in map(index_key, values):
            return None
        return FieldNeed(names, tuple(values))


def _names(node: Node) -> tuple[str, ...] | None:
    """A path of nothing but names."""
    if (path := path_of(node)) is None or not path[1]:
        return None
    names = tuple(key for key in path[1] if isinstance(key, str))
    return names if len(names) == len(path[1]) else None


_SOUGHT = {
    "starts_with": "prefixes",
    "glob": "prefixes",
    "ends_with": "suffixes",
    "contains": "parts",
}
"""Of each function that looks for a text, the field of FieldNeed that says so."""


# -- why not

_POSITION = "a position in a list is read"
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
