"""Made-up expressions, documents and rules: the same ones for the same seed."""

import random
from collections.abc import Callable
from typing import Any

NAMES = ("a", "b", "c")
SCALARS: tuple[Any, ...] = (None, True, False, 2, 3, 4, 5, 6, "", "x", "y", "xy")
"""No 0 and 1: the reference takes them for booleans inside lists."""

_LITERALS = ("`3`", "'x'", "`true`", "`null`", "`[2, 3]`", '`{"a": 2}`')
_FIELDS = (*NAMES, '"a"', "@")

_FORMS = (
    "({0}).{name}",
    "({0})[{position}]",
    "({0})[{position}:]",
    "({0})[{wide}]",
    "({0})[{wide}:]",
    "({0})[:{wide}]",
    "({0})[::{wide}]",
    "({0})[::{step}]",
    "({0})[*].{name}",
    "({0})[]",
    "({0}).*",
    "({0})[?{1}].{name}",
    "({0})[?{1}]",
    "({0} {sign} {literal})",
    "({0} {order} `3`)",
    "({0} || {1})",
    "({0} && {1})",
    "(!({0}))",
    "({0} | {1})",
    "[{0}, {1}]",
    "{{a: {0}, b: {1}}}",
    "type({0})",
    "to_array({0})",
    "not_null({0}, {1})",
    "length({0})",
    "sort({0})",
    "map(&{0}, {1})",
    "max_by({0}, &{1})",
    "contains({0}, {literal})",
    "starts_with({0}, 'x')",
    "keys({0})",
    "join('x', {0})",
    "reverse({0})",
    "to_number({number})",
    'merge({0}, `{{"a": 2}}`)',
)
_WIDE = (2**62, -(2**62), 2**63, -(2**63) - 1, 2**64 + 1, -(10**30), 10**30)
"""Positions beyond what a machine word holds."""
_NUMBER_TEXTS = (
    "3",
    "-3",
    "+3",
    "03",
    " 3 ",
    ".5",
    "5.",
    "1.50",
    "1e3",
    "1E+3",
    "1e00003",
    "x",
    "",
)


_PATHS = (
    "payload.a",
    "payload.b",
    "payload.a.c",
    "$.payload.b",
    "event",
    "payload.gone",
    "payload.l",
)
_VALUES = ("'x'", "'y'", "'xy'", "1", "1.0", "true", "null", '`"x"`', "`1`")
_FIELD_VALUES: tuple[Any, ...] = (
    *("x", "y", "xy", "xyz", "", "1"),
    *(1, 1.0, 0, True, False, None),
    *([], ["x"], {"c": "x"}, {"c": 1}, {"c": None}),
)
_LEAVES = (
    "{path} == {value}",
    "{value} == {path}",
    "{path} == {value}",
    "{path} != {value}",
    "{path} == {path2}",
    "{path} {order} 1",
    "starts_with({path}, '{text}')",
    "glob({path}, '{glob}')",
    "contains(['y', 'x'], {path})",
    "contains({path}, 'x')",
    "exists({path})",
    "length({path}) > 0",
    "lower({path}) == 'x'",
    "{path}",
    "!{path}",
    "payload.l[?@ == {value}]",
    "{path} == var.{var}",
    "var.{var} == {path}",
    "starts_with({path}, var.{var})",
    "contains(var.{var}, {path})",
    "contains([var.{var}, 'y'], {path})",
)
VARIABLES: dict[str, Any] = {"x": "x", "n": 1, "some": ["xy", 1], "none": None, "in": {"x": "y"}}
"""What `var` is, for every event the same."""

_VAR_NAMES = (*VARIABLES, "in.x", "gone")


def document(rng: random.Random, depth: int = 3) -> Any:
    """A JSON value."""
    kind = rng.random()
    if depth == 0 or kind < 0.35:
        return rng.choice(SCALARS)
    if kind < 0.65:
        return [document(rng, depth - 1) for _ in range(rng.randrange(4))]
    return an_object(rng, depth)


def an_object(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    """An object with some of the names that expressions ask for."""
    names = rng.sample(NAMES, rng.randrange(4))
    return {name: document(rng, depth - 1) for name in names}


def expression(rng: random.Random, size: int = 5) -> str:
    """Core grammar, without what the documentation says to be otherwise here."""
    if size <= 1 or rng.random() < 0.1:
        return rng.choice(_FIELDS) if rng.random() < 0.6 else _path(rng)
    form = rng.choice(_FORMS)
    left = rng.randint(1, size - 1)
    return form.format(
        expression(rng, left),
        expression(rng, size - left),
        name=rng.choice(NAMES),
        position=rng.randint(-3, 3),
        step=rng.choice((-1, 2)),
        wide=rng.choice(_WIDE),
        number=repr(rng.choice(_NUMBER_TEXTS)),
        sign=rng.choice(("==", "!=")),
        order=rng.choice(("<", "<=", ">", ">=")),
        literal=rng.choice(_LITERALS),
    )


def _path(rng: random.Random) -> str:
    return ".".join(rng.choice(NAMES) for _ in range(rng.randint(1, 3)))


def condition(rng: random.Random, size: int = 5) -> str:
    """A test as rules have them, joined by `&&`, `||` and `!`."""
    if size <= 1 or rng.random() < 0.2:
        return _leaf(rng)
    if rng.random() < 0.15:
        return f"!({condition(rng, size - 1)})"
    left = rng.randint(1, size - 1)
    sign = rng.choice(("&&", "&&", "||"))
    return f"({condition(rng, left)} {sign} {condition(rng, size - left)})"


def _leaf(rng: random.Random) -> str:
    return rng.choice(_LEAVES).format(
        path=rng.choice(_PATHS),
        path2=rng.choice(_PATHS),
        value=rng.choice(_VALUES),
        order=rng.choice(("<", "<=", ">", ">=")),
        text=rng.choice(("", "x", "xy", "y")),
        var=rng.choice(_VAR_NAMES),
        glob=rng.choice(("x", "x*", "xy*", "*y", "*", "x*z")),
    )


def match(rng: random.Random) -> list[Any]:
    """The `match` of a rule: texts, `not` and `any`."""
    makers: tuple[Callable[[], Any], ...] = (
        lambda: condition(rng),
        lambda: condition(rng),
        lambda: {"not": condition(rng, 3)},
        lambda: {"any": [condition(rng, 3) for _ in range(rng.randint(1, 3))]},
    )
    return [rng.choice(makers)() for _ in range(rng.randrange(3))]


def scope(rng: random.Random) -> dict[str, Any]:
    """What the conditions see of an event."""
    fields = rng.sample(("a", "b", "l"), rng.randrange(4))
    payload: Any = {name: rng.choice(_FIELD_VALUES) for name in fields}
    if rng.random() < 0.05:
        payload = rng.choice(_FIELD_VALUES)
    return {"payload": payload, "event": rng.choice(("x", "y", "xyz")), "var": VARIABLES}
