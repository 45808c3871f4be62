"""The grammar's own parts: our deviations, bounds, offsets, and errors in words."""

from decimal import Decimal
from typing import Any

import pytest

from router.errors import ExpressionError
from router.expressions import compile as compiled
from router.expressions import compile_template
from router.expressions.tokens import MINUS_HINT


def refusal(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        compiled(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "given", "result"),
    [
        ("n > 3", {"n": 5}, True),
        ("3 < n", {"n": 5}, True),
        ("n == 10.5", {"n": Decimal("10.50")}, True),
        ("n == -2", {"n": -2}, True),
        ("n > -0.5", {"n": 0}, True),
        ("(n == (3))", {"n": 3}, True),
        ("flag == true", {"flag": True, "true": 1}, True),
        ("a == null", {"null": 1}, True),
        ('a == "true"', {"a": 1, "true": 1}, True),
        ("true.a == 2", {"true": {"a": 2}}, True),
        ("true", {"true": 7}, 7),
        ("contains(l, 2)", {"l": [1, 2]}, True),
        ("not_null(null, false)", {}, False),
        ("!a.b", {"a": {"b": False}}, True),
        ("!a.b == true", {"a": {"b": False}}, True),
        ("!l[0]", {"l": [0]}, False),
        ("!l[]", {"l": []}, True),
        ("l[?p > $.limit].p", {"limit": 2, "l": [{"p": 1}, {"p": 3}]}, [3]),
        ("$", {"a": 1}, {"a": 1}),
        ("l[0][:1].p", {"l": [[{"p": 1}, {"p": 2}]]}, [1]),
    ],
)
def test_our_grammar(text: str, given: Any, result: Any) -> None:
    assert compiled(text).search(given) == result


@pytest.mark.parametrize(
    ("text", "marked", "hint"),
    [
        ("a == 1 and b == 2", "and", "write '&&' for 'and'"),
        ("a or b", "or", "write '||' for 'or'"),
        ("a = 'x'", "=", "write '=='"),
        ("not a", "not", "write !a"),
        ("a is null", "is", "write a == null"),
        ("a in b", "in", "write contains(b, a)"),
        ("a + 1", "+", "write add(a, b), or concat(a, b) for texts"),
        ("a -1", "-1", MINUS_HINT),
        ("headers.x-id == 'a'", "-", MINUS_HINT),
        (
            "'x' \"b\"",
            '"b"',
            "a text goes in single quotes; double quotes are for a field's name",
        ),
        ("a & b", "&", "write '&&' for 'and'"),
        ("5", "5", "write `5` in backticks"),
        ("l[1, 2]", ",", "add ']' before it"),
        ("&a", "&a", "write '&&' for 'and'"),
        ("items.0", "0", "a list position goes in brackets: items[0]"),
        ("lowr(a)", "lowr", "did you mean 'lower'?"),
        ("lower(a, b)", "lower(a, b)", "write lower(text)"),
        ("lookup(a)", "lookup(a)", "write lookup(map, key[, fallback])"),
        ("sort_by(a, b)", "b", "write & before it: &price"),
        ("lower(&a)", "&a", None),
        ("a[::0]", "[::0]", None),
        ("a[1.5]", "1.5", None),
        ("a ==", "=", "a value is missing at the end"),
        ("a == 'x", "'x", "is one missing before it? One inside of it is written \\'"),
        ("{a: b c: d}", "c", "an operator is missing between the two"),
        ("contains(a 'x')", "'x'", "an operator is missing between the two"),
        ('"lower"(a)', '"lower"', None),
        ("", "", None),
    ],
)
def test_refusals_show_the_place_and_the_mend(
    text: str, marked: str | None, hint: str | None
) -> None:
    fault = refusal(text)
    if marked is not None:
        assert text[fault.start : fault.end] == marked
        assert fault.hint == hint


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a ==", "expression-syntax"),
        ("nope(a)", "unknown-function"),
        ("now(a)", "function-arity"),
        ("map(a, b)", "function-argument"),
        ("a" * 4097, "expression-too-complex"),
        ("(" * 3000 + "a" + ")" * 1000, "expression-too-complex"),
        ("!" * 500 + "a", "expression-too-complex"),
        ("[" * 100 + "a" + "]" * 100, "expression-too-complex"),
        ("a" + "[]" * 500, "expression-too-complex"),
        ("a == " * 500 + "a", "expression-too-complex"),
        ("lower(" * 100 + "a" + ")" * 100, "expression-too-complex"),
        ("a || " * 1100 + "a", "expression-too-complex"),
        (" | ".join(["[@, @]"] * 12), "expression-too-complex"),
        ("map(&[@, @, @, @, @, @, @, @, @, @] | [@, @, @, @, @, @, @], " * 3 + "a)))", None),
        ("9" * 401 + " == a", "expression-syntax"),
    ],
)
def test_codes_and_bounds(text: str, code: str | None) -> None:
    fault = refusal(text)
    assert code is None or fault.code == code


def test_long_chains_of_alternatives_are_fine() -> None:
    text = " || ".join(f"a == 'v{number}'" for number in range(250))
    assert compiled(text).verdict({"a": "v249"}) is True
    assert compiled(text).search({"a": "nope"}) is False


def test_roots_uses_and_spans() -> None:
    text = "payload.items[?price > $.def.limit] | [0].name == event && lookup(var.main, query)"
    expression = compiled(text)
    assert expression.roots == {"payload", "def"}  # what follows a pipe reads its left side
    text = 'payload.a.b == event && lookup(var.main, @.query.x) && headers."x-y"[?id == $.def.c]'
    expression = compiled(text)
    assert expression.roots == {"payload", "event", "var", "query", "headers", "def"}
    assert expression.uses == {
        ("payload", "a"),
        ("var", "main"),
        ("query", "x"),
        ("headers", "x-y"),
        ("def", "c"),
    }
    start, end = expression.spans["headers", "x-y"]
    assert text[start:end] == 'headers."x-y"'
    start, end = expression.spans["event"]
    assert text[start:end] == "event"


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("results[0].x", {"results"}),
        ("a[*].b", {"a"}),
        ("[a, b.c]", {"a", "b"}),
        ("{x: a}", {"a"}),
        ("a.[b, $.c]", {"a", "c"}),
        ("sort_by(a, &b)", {"a"}),
        ("$ | a", {"a"}),
        ("@ | a.b", {"a"}),
        ("lower(a)", {"a"}),
        ("a.lower(@)", {"a"}),
        ("!a", {"a"}),
        ("$.a[0].b", {"a"}),
        ("'x'", set()),
    ],
)
def test_roots(text: str, roots: set[str]) -> None:
    assert compiled(text).roots == roots


@pytest.mark.parametrize(
    ("text", "unnamed"),
    [
        ("now()", {"delivery"}),
        ("concat('at ', now())", {"delivery"}),
        ("map(&age(@), a)", {"delivery"}),
        ("$", {"$"}),
        ("@", {"$"}),
        ("keys($)", {"$"}),
        ("{x: @}.x.b", {"$"}),
        ("*.b", {"$"}),
        ("map(&[$], a)", {"$"}),
        ("a[?$]", {"$"}),
        ("not_null($).b", {"$"}),
        ("$.a", set()),
        ("@.a", set()),
        ("a | keys(@)", set()),
        ("a.*.b", set()),
        ("a[*]", set()),
        ("a[?@ == $.b]", set()),
        ("map(&@, a)", set()),
        ("lower('x')", set()),
    ],
)
def test_what_is_read_without_a_name_counts_beside_the_roots(text: str, unnamed: set[str]) -> None:
    expression = compiled(text)
    assert expression.reads == expression.roots | unnamed
    assert not expression.roots & unnamed
    template = compile_template(f"a {{{{ {text} }}}} b")
    assert template.reads == expression.reads
