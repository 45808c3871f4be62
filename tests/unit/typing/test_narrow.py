"""What one part of a condition teaches the next: all guards, tests, types and values of a set."""

from itertools import product
from typing import Any

import pytest

from router.expressions import Failed
from router.expressions import compile as compiled
from router.typing.lattice import (
    ABSENT,
    ANY,
    BOOLEAN_TYPE,
    FALSE,
    FAULT,
    NULL_TYPE,
    NUMBER_TYPE,
    TEXT,
    TEXT_TYPE,
    TRUE,
    Type,
    closed_object,
    constant,
    join,
    list_of,
    with_kinds,
)
from tests.misfits import misfit
from tests.verdict_bits import verdict_bits

GUARDS = (
    "{0} != null",
    "{0} == null",
    "{0}",
    "!{0}",
    "exists({0})",
    "!({0} == null)",
    "{0} == 'x'",
    "{0} != 'x'",
    "{0} > `2`",
    "contains({0}, 'x')",
    "contains(['x', 'y'], {0})",
    "({0} == 'x' || {0} == `3`)",
    "!({0} != null && {0} != 'x')",
    "{0} == b",
)
TESTS = (
    "{0} == `3`",
    "{0} == 'x'",
    "{0} != 'y'",
    "{0}",
    "!{0}",
    "{0} == `true`",
    "{0} < `4`",
    "{0} != null",
    "exists({0})",
)
WORDS = Type(TEXT, texts=frozenset({"x", "y"}))
TYPES = (
    TEXT_TYPE,
    WORDS,
    constant("x"),
    constant(""),
    NUMBER_TYPE,
    BOOLEAN_TYPE,
    NULL_TYPE,
    list_of(TEXT_TYPE),
    closed_object({}),
    ANY,
    join(WORDS, NULL_TYPE),
    join(NUMBER_TYPE, NULL_TYPE),
    join(TEXT_TYPE, NUMBER_TYPE),
)
VALUES: tuple[Any, ...] = ("x", "y", "", 3, 1, True, False, None, ["x"], [], {}, {"c": 1})
MISSING = object()


def fits(kind: Type, value: Any) -> bool:
    return bool(kind.kinds & ABSENT) if value is MISSING else misfit(kind, value) is None


def holds(bits: int, verdict: bool | Failed) -> bool:
    wanted = FAULT if isinstance(verdict, Failed) else TRUE if verdict else FALSE
    return bool(bits & wanted)


@pytest.mark.parametrize("sign", ["&&", "||"])
@pytest.mark.parametrize("guard", GUARDS)
def test_what_is_learnt_rules_out_nothing_that_happens(guard: str, sign: str) -> None:
    for test, plain, path in product(TESTS, TYPES, ("a", "n.a")):
        expression = compiled(f"{guard.format(path)} {sign} {test.format(path)}")
        for kind in (plain, with_kinds(plain, plain.kinds | ABSENT)):
            inner = closed_object({"a": kind})
            scope = closed_object({"a": kind, "b": WORDS, "n": join(inner, NULL_TYPE)})
            bits, _ = verdict_bits(expression, scope)
            for value in (*VALUES, MISSING):
                if fits(kind, value):
                    held = {} if value is MISSING else {"a": value}
                    verdict = expression.verdict({**held, "b": "x", "n": held})
                    assert holds(bits, verdict), (expression.text, plain, value, verdict)
            verdict = expression.verdict({"a": "x", "b": "x", "n": None})
            if path == "n.a":
                assert holds(bits, verdict), (expression.text, plain, None, verdict)
