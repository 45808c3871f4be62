"""What an explanation says in words, wherever it is told."""

import msgspec
import pytest

from router.expressions import JSON, FieldNeed
from router.expressions.trace import Found, Leaf, trace
from router.rules import explain_words as words
from router.rules.explain import items_of
from tests.builders import a_condition, a_rule


def a_leaf(text: str, payload: JSON) -> Leaf:
    test = a_condition(text).test
    assert test is not None
    [leaf] = trace(test, {"payload": payload}).leaves
    return leaf


@pytest.mark.parametrize(
    ("text", "payload", "reported"),
    [
        ("payload.n > 5", {"n": 3}, "payload.n = 3 (number)"),
        ("payload.n == 'x'", {"n": None}, "payload.n = null"),
        ("payload.n == 'x'", {"n": "\x1b[0m"}, r'payload.n = "\u001b[0m" (string)'),
        ("payload.n > 5", {}, "payload.n is not there"),
        ("payload.n\n  > 5", {"n": "y"}, 'payload.n = "y" (string); '),
    ],
)
def test_what_was_found_beside_a_leaf(text: str, payload: JSON, reported: str) -> None:
    """Once each: that a field is not there is both what was found and why it erred."""
    said = words.leaf_words(a_leaf(text, payload))
    assert said.startswith(reported) if reported.endswith(" ") else said == reported


def test_a_long_value_is_cut() -> None:
    assert words.short("x" * 500) == '"' + "x" * 79 + "…"


def test_an_item_of_one_leaf_and_its_verdict() -> None:
    conditions = tuple(map(a_condition, ("payload.n > 5 && payload.m", " payload.o > 1")))
    rule = msgspec.structs.replace(a_rule("r"), match=conditions)
    two, one = items_of(rule, {"payload": {"n": 9, "m": True}})
    assert (words.is_one_leaf(two), words.verdict_word(two.verdict)) == (False, "true")
    assert (words.is_one_leaf(one), words.verdict_word(one.verdict)) == (True, "error")


def test_a_change_and_what_stood_there() -> None:
    said = words.change_words(
        "payload.n", "needs > 5", Found("payload.n", "number", 3), "a hint", str
    )
    assert said == "payload.n needs > 5, is 3 (a hint)"
    gone = words.change_words(
        "payload.n", "needs > 5", Found("payload.n", "absent", None), None, str
    )
    assert gone == "payload.n needs > 5, is not there"


def test_why_the_index_passed_over() -> None:
    need = FieldNeed(("payload", "n"), (2, 3), ("x",), ("y",), ("z",))
    assert words.passed_words(need, True, 1, str) == (
        "payload.n is 1, the rule wants 2 or 3 or a text that begins with x"
        " or a text that ends with y or a text or list that holds z"
    )
    said = words.passed_words(FieldNeed(("a",), (2,)), False, None, str)
    assert said == "a is not there, the rule wants 2"
