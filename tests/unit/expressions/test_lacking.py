"""Which paths of an expression lead nowhere in a scope."""

from typing import Any

import pytest

from router import expressions
from router.expressions import Definitions
from router.expressions.lacking import lacks

SCOPE: dict[str, Any] = {
    "payload": {"null": None, "list": [1, {"d": 2}], "empty": [], "text": "x", "object": {"a": 1}}
}


@pytest.mark.parametrize(
    "text",
    [
        "payload.null",
        "payload.list[1].d",
        "payload.list[-1].d",
        "payload.list[].nothing",
        "payload.list[?nothing == 'x'] | [0].nothing",
        "payload.object.* | [0]",
        "payload.{a: text, b: text}",
        "join(',', payload.empty)",
        "max_by(payload.list, &nothing)",
        "$.payload.text",
        "to_string(`1`)",
        "def.gone",
    ],
)
def test_what_is_there(text: str) -> None:
    scope = {**SCOPE, "def": Definitions({"gone": expressions.compile("payload.nothing")}, SCOPE)}
    assert not lacks(expressions.compile(text), scope)


@pytest.mark.parametrize(
    "text",
    [
        "payload.nothing",
        "nothing",
        "payload.null.a",
        "payload.text.a",
        "payload.list[2]",
        "payload.list[-3]",
        "payload.list.a",
        "payload.nothing[].a",
        "lower(payload.nothing)",
        "payload.text && payload.nothing",
        "$.payload.nothing",
        "payload.text || (payload.nothing == 'x')",
    ],
)
def test_what_is_not(text: str) -> None:
    assert lacks(expressions.compile(text), SCOPE)
