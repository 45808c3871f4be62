"""What a condition before another one decides, by every pair of a set and every value of a set."""

from itertools import product
from typing import Any

import pytest

from router.expressions import Expression, Failed
from router.expressions import compile as compiled
from router.typing.lattice import (
    ABSENT,
    ANY,
    FALSE,
    FAULT,
    LIST,
    NULL,
    NUMBER,
    NUMBER_TYPE,
    TEXT,
    TEXT_TYPE,
    TRUE,
    Type,
    closed_object,
    join,
    list_of,
    with_kinds,
)
from tests.chance import thinned
from tests.misfits import misfit
from tests.verdict_bits import verdict_bits

LEAVES = (
    "a",
    "!a",
    "a == 'x'",
    "a != 'x'",
    "a == 3",
    "a == 1",
    "a == `[1]`",
    "a == `[true]`",
    "a != 3",
    "a == true",
    "a != true",
    "a == null",
    "a != null",
    "a > 2",
    "3 > a",
    "a <= 2",
    "a >= 3",
    "a == a",
    "a < a",
    "a == b",
    "a < b",
    "a < length(b)",
    "a >= 0",
    "exists(a)",
    "length(a) < 0",
    "length(a) >= 0",
    "length(a) > 1",
    "length(a) != 1",
    "decimal(a) > 2",
    "decimal(a) <= 2",
    "decimal(a) < decimal('3')",
    "decimal(a) < decimal(b)",
    "lower(a) == 'x'",
    "lower(a) != 'x'",
    "lower(a) == null",
    "contains(a, 'x')",
    "contains(['x', 'y'], a)",
    "type(a) == 'array'",
    "type(a) != 'string'",
    "type(a) == 'null'",
    "to_number(a) == 3",
    "default(a, 'z') == 'z'",
    "not_null(a, '') == ''",
    "lower(a) != ''",
    "(a || '') != ''",
    "contains(lower(default(a, '')), 'x')",
    "contains(['x', 'y'], a) == false",
    "contains(a, 'x') == false",
)
MISSING = object()
VALUES: tuple[Any, ...] = (
    *(MISSING, None, True, False, -1, 0, 1, 2, 2.5, 3, 4, "", "x", "X", "3", "2"),
    *([], [1], [True], ["x"], ["x", "y"], {}, {"c": 1}),
)
TYPES = (
    ANY,
    Type(NUMBER | NULL | ABSENT),
    NUMBER_TYPE,
    TEXT_TYPE,
    Type(TEXT | NULL | ABSENT, texts=frozenset({"x", "3", ""})),
    with_kinds(list_of(TEXT_TYPE), LIST | ABSENT),
    join(list_of(TEXT_TYPE), Type(TEXT | NULL)),
)
OTHERS = (3, "x", MISSING)
COMPILED = {leaf: compiled(leaf) for leaf in LEAVES}


def scope(kind: Type) -> Type:
    return closed_object({"a": kind, "b": ANY})


def payloads(kind: Type) -> list[dict[str, Any]]:
    fitting = [
        value
        for value in VALUES
        if (kind.kinds & ABSENT if value is MISSING else misfit(kind, value) is None)
    ]
    return [
        {name: one for name, one in (("a", value), ("b", other)) if one is not MISSING}
        for value, other in product(fitting, OTHERS)
    ]


def bit(verdict: bool | Failed) -> int:
    return FAULT if isinstance(verdict, Failed) else TRUE if verdict else FALSE


def judged(expression: Expression, kind: Type) -> list[int]:
    return [bit(expression.verdict(one)) for one in payloads(kind)]


@pytest.mark.parametrize("sign", ["&&", "||"])
@pytest.mark.parametrize("first", thinned(LEAVES, one_of=5))
def test_what_is_said_of_the_second_of_two_conditions_holds(first: str, sign: str) -> None:
    onwards = TRUE if sign == "&&" else FALSE | FAULT
    for kind, second in product(TYPES, LEAVES):
        both = compiled(f"{first} {sign} {second}")
        bits, run = verdict_bits(both, scope(kind))
        assert not set(judged(both, kind)) - {b for b in (TRUE, FALSE, FAULT) if bits & b}, both
        span = (both.tree.children[1].start, both.tree.children[1].end)
        said = {finding.code for finding in run.findings if finding.span == span}
        pairs = zip(judged(COMPILED[first], kind), judged(COMPILED[second], kind), strict=True)
        seen = {after for before, after in pairs if before & onwards}
        assert "never-true" not in said or TRUE not in seen, (both, kind)
        assert "always-true" not in said or not seen - {TRUE}, (both, kind)
        assert "never-false" not in said or FALSE not in seen, (both, kind)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("decimal(a) > 500 && decimal(a) < 100", "never-true"),
        ("decimal(a) > 500 && !(decimal(a) >= 100)", "always-true"),
        ("a > 5 && 3 > a", "never-true"),
        ("a == 'open' && a == 'draft'", "never-true"),
        ("a == 3 && a > 3", "never-true"),
        ("contains(a, 'x') && !contains(a, 'x')", "always-true"),
        ("a == 'x' || a == 'x'", "never-true"),
        ("length(a) < 0", "never-true"),
        ("a < a", "never-true"),
        ("a == 'x' && a == 'x'", "always-true"),
        ("a >= 3 && a >= 2", "always-true"),
        ("a != 'open' || a != 'draft'", "never-false"),
        ("a > 3 || a < 5", "never-false"),
        ("length(a) >= 0", "never-false"),
        ("a == a", "never-false"),
        ("a[?b > 5 && b < 3]", "never-true"),
    ],
)
def test_logic_that_decides_nothing_is_found_in_any_payload(text: str, code: str) -> None:
    _, run = verdict_bits(compiled(text), scope(ANY))
    assert [finding.code for finding in run.findings] == [code]


@pytest.mark.parametrize(
    "text",
    [
        "a > 5 && a < 9",
        "a >= 5 && a <= 5",
        "decimal(a) > 100 && decimal(b) < 50",
        "a == 'x' || a == 'y'",
        "a != 'x' && a != 'y'",
        "(a == 'x' || b == 'x') && a == 'y'",
        "a[?b == 'x'] && a[?b == 'y']",
        "(a == 'x' && b > 1) || (a == 'x' && b < 1)",
        "a > 5 && if(b > 3, a < 9, a < 20)",
    ],
)
def test_logic_that_decides_something_is_left_alone(text: str) -> None:
    _, run = verdict_bits(compiled(text), scope(ANY))
    assert run.findings == []
