"""What a condition needs to be true, as far as an index can use it."""

from collections.abc import Mapping
from decimal import Decimal
from itertools import chain
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


def needs_of(
    expression: Expression, variables: Mapping[str, JSON] = _NO_VARIABLES
) -> tuple[FieldNeed, ...]:
    """
    What must be equal to, begin or end with, or hold something known: on the condition's AND
    spine, and of an `||` what all its alternatives say of one field. Known are literals and
    `variables` (`var.…`), which are the same for every event.
    """
    return _NeedReader(variables).needs(expression.tree)


def alternatives(each: list[tuple[FieldNeed, ...]]) -> tuple[FieldNeed, ...]:
    """What is needed where one of several conditions must hold: their values on shared fields."""
    if not each:
        return ()
    first, *others = ({need.path: need for need in reversed(needs)} for needs in each)
    found = []
    for path in dict.fromkeys(need.path for need in each[0]):
        if all(path in other for other in others):
            same = [first[path], *(other[path] for other in others)]
            each_way = zip(*(msgspec.structs.astuple(need)[1:] for need in same), strict=True)
            found.append(FieldNeed(path, *(tuple(chain(*texts)) for texts in each_way)))
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
        found = None
        if node.kind == "compare":
            found = self._equality(node)
        elif node.kind == "call":
            found = self._call(node)
        return () if found is None else (found,)

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
        if node.value != "==":
            return None
        sides = [(child, self._value(child)) for child in node.children]
        fields = [child for child, value in sides if value is ABSENT]
        if len(fields) != 1:
            return None
        [value] = (value for _, value in sides if value is not ABSENT)
        names = _names(fields[0])
        return None if names is None or index_key(value) is None else FieldNeed(names, (value,))

    def _call(self, node: Node) -> FieldNeed | None:
        if len(node.children) != 2:
            return None
        if node.value == "contains" and (need := self._one_of(*node.children)) is not None:
            return need
        names, text = _names(node.children[0]), self._value(node.children[1])
        if names is None or not isinstance(text, str):
            return None
        if node.value == "glob":
            text, star, _ = text.partition("*")
            if not star:
                return FieldNeed(names, (text,))
        field = _SOUGHT.get(node.value)
        return FieldNeed(names, (), **{field: (text,)}) if field and text else None

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
