"""What other languages write, and how it is said to be written here, at the sign that is wrong."""

import re

import pytest

from router.errors import ExpressionError
from router.expressions import compile as compiled
from router.expressions import compile_template, hint_of_field, hint_of_root
from router.expressions.idioms import ROOTS, ROWS

FORMS = ("no", "sign", "v_small", "v_name", "v_null", "v_glob", "v_digits")
"""What idioms.py makes of the groups of a row."""

EXPRESSIONS = [
    # JavaScript
    (
        "payload.email.endsWith('@example.com')",
        "endsWith",
        "ends_with(payload.email, '@example.com')",
    ),
    ('payload.tags.includes("vip")', "includes", "contains(payload.tags, 'vip')"),
    ("payload.name.toLowerCase() == 'x'", "toLowerCase", "lower(payload.name)"),
    ("payload.items.length() > 3", "length()", "length(payload.items)"),
    ("payload.items.some(i => i.sku == 'A')", "=", "payload.items[?sku == 'A']"),
    ("JSON.stringify(payload.x) == 'y'", "stringify", "to_string(payload.x)"),
    ("payload.x === 'y'", "===", "write =="),
    ("payload.x !== 'y'", "!==", "write !="),
    ("payload.test ? false : true", "?", "if(payload.test, false, true)"),
    ("payload.a ?? 'x'", "?", "default(payload.a, 'x')"),
    ("payload.a ?: 'x'", "?", "default(payload.a, 'x')"),
    ("payload.a?.b == 'x'", "?", "'.'"),
    ("payload['x'] == 'y'", "'x'", "payload.x"),
    ('payload["x"]["y"] == 1', '"x"', "payload.x.y"),
    ('payload["x-y"] == 1', '"x-y"', 'payload."x-y"'),
    ("req.headers['X-Id'] == 'a'", "'X-Id'", 'write headers."x-id"'),
    ("${payload.x} == 'y'", "{", "payload.x"),
    ("payload.a =! 'x'", "=!", "write !="),
    ("payload.a =< 5", "=<", "write <="),
    ("payload.a => 5", "=>", "write >="),
    # Python
    ("payload.email.lower() == 'x'", "lower()", "lower(payload.email)"),
    ("payload.get('action') == 'opened'", "get", "payload.action"),
    ("payload.x in ['a', 'b']", "in", "contains(['a', 'b'], payload.x)"),
    ('payload.x not in ["a"]', "not", "!contains(['a'], payload.x)"),
    ("'vip' in payload.tags", "in", "contains(payload.tags, 'vip')"),
    ("payload.x is None", "is", "payload.x == null"),
    ("payload.x is not None", "is", "payload.x != null"),
    ("payload.x is True", "is", "payload.x == True"),
    ("not payload.x", "not", "!payload.x"),
    ("not (payload.a == 'b')", "not", "!(payload.a == 'b')"),
    ("len(payload.items) > 3", "len", "length(payload.items)"),
    ("re.match('^a', payload.x)", "match", "matches(payload.x, '^a')"),
    ("payload.price * 2 > 5", "*", "mul(payload.price, 2)"),
    # SQL
    ("payload.x IS NULL", "IS", "payload.x == null"),
    ("payload.x <> 'y'", "<>", "write !="),
    ("payload.x IN ('a', 'b')", "IN", "contains(['a', 'b'], payload.x)"),
    ("payload.x LIKE '%ab%'", "LIKE", "glob(payload.x, '*ab*')"),
    ("payload.x NOT LIKE 'ab%'", "NOT", "!glob(payload.x, 'ab*')"),
    ("coalesce(payload.x, 'y')", "coalesce", "default(payload.x, 'y')"),
    # regular expressions
    ("payload.x =~ /^ab.*$/i", "=", "matches(payload.x, '^ab.*$')"),
    ('payload.x !~ "^ab"', "~", "!matches(payload.x, '^ab')"),
    ("payload.x matches '^ab'", "matches", "matches(payload.x, '^ab')"),
    # words
    ("payload.a contains 'x'", "contains", "contains(payload.a, 'x')"),
    ("payload.a not contains 'x'", "not", "!contains(payload.a, 'x')"),
    ("payload.a starts with 'x'", "starts", "starts_with(payload.a, 'x')"),
    ("payload.a equals 'x'", "equals", "payload.a == 'x'"),
    ("payload.a == 'x'; payload.b == 'y'", ";", "&&"),
    ("payload.a == 'x', payload.b == 'y'", ",", "&&"),
    # jq, JSONPath, CEL, workflow expressions, n8n
    (".action == 'opened'", ".", "payload.action"),
    ("length(.items) > 3", ".", "payload.items"),
    ("has(payload.x)", "has", "exists(payload.x)"),
    ("payload.tags.has('x')", "has", "contains(payload.tags, 'x')"),
    ("startsWith(payload.ref, 'refs/')", "startsWith", "starts_with(payload.ref, 'refs/')"),
    ("{{ payload.x }} == 'paid'", "{", "payload.x without braces"),
    ("${{ payload.x == 'paid' }}", "{", "payload.x == 'paid' without braces"),
    # texts
    ("payload.x == hello world", "hello world", "'hello world'"),
    ("payload.x == orders/paid && payload.y", "orders/paid", "'orders/paid'"),
    ("payload.x == 2024-01-01", "2024-01-01", "'2024-01-01'"),
    ("payload.x == \u201cpaid\u201d", "\u201c", "'paid', in straight single quotes"),
    ("payload.x == 'it's'", "'", "\\'"),
    # numbers
    ("payload.x > 500 EUR", "EUR", "500"),
    ("payload.x > 50%", "%", "50"),
    ("payload.x > 500\u20ac", "\u20ac", "500"),
    ("payload.x > 1,000", ",", "1000"),
    ("payload.x > 1_000_000.50", "_000_000", "1000000.50"),
    ("age(payload.x) < 24h", "h", "24: a number has no unit, a time is in seconds"),
    # characters
    ("payload.t\u0430gs == 'x'", "\u0430", "the ordinary 'a'"),
    ("payload.x \u2013 5", "\u2013", "the ordinary '-'"),
    ("payload.x\u00a0== 'a'", "", "take it out, or write an ordinary space"),
    ("payload.x\u200b == 'a'", "\u200b", "take it out, or write an ordinary space"),
    ("payload.\u540d == 1", "\u540d", "in double quotes"),
    # brackets
    ("contains(payload.a, 'x'", "(", "add ')'"),
    ("[payload.a, payload.b)", "[", "add ']'"),
    ("payload.items[?a == 'x'", "[?", "add ']'"),
    ("contains(payload.a[0, 'x')", ",", "add ']' before it"),
    ("payload.a == 'x')", ")", "is its '(' missing, or a value before it?"),
    ("&& payload.a", "&&", "a value is missing before it"),
    ("payload.a &&", "&", "a value is missing at the end"),
]

TEMPLATES = [
    ("{{ .Payload.name }}", ".", "payload.name"),
    ('{{ payload.name | default("x") }}', 'default("x")', "default(payload.name, 'x')"),
    ("{{ payload.tags | join(', ') }}", "join(', ')", "join(', ', payload.tags)"),
    ("{{ payload.x == 'a }} b' }} {{ payload.y ?? 'c' }}", "?", "default(payload.y, 'c')"),
]


def faults(compile_: object, text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        compile_(text)  # type: ignore[operator] # either of the two compilers
    return caught.value


@pytest.mark.parametrize(("text", "marked", "written"), EXPRESSIONS)
def test_an_expression_of_another_language(text: str, marked: str, written: str) -> None:
    fault = faults(compiled, text)
    assert text[fault.start : fault.end].strip() == marked
    assert fault.hint is not None
    assert written in fault.hint


@pytest.mark.parametrize(("text", "marked", "written"), TEMPLATES)
def test_a_template_of_another_language(text: str, marked: str, written: str) -> None:
    fault = faults(compile_template, text)
    assert text[fault.start : fault.end] == marked
    assert fault.hint is not None
    assert written in fault.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("env.STAGE", "write var.stage, and vars: {stage: {env: STAGE}} at the top"),
        ("process.env.STAGE", "write var.stage, and vars: {stage: {env: STAGE}} at the top"),
        ("os.environ.HOME", "write var.home, and vars: {home: {env: HOME}} at the top"),
        ("github.event.pull_request.title", "write payload.pull_request.title"),
        ("github.event_name", "write event"),
        ("body.a.b", "write payload.a.b"),
        ("req.body.a", "write payload.a"),
        ("data.a", "write payload.a"),
        ('request.headers."X-Id"', 'write headers."x-id"'),
        ("None", "write null"),
        ("True", "write true"),
        ("colour.x", None),
        ("body", None),
    ],
)
def test_a_root_of_another_language(text: str, hint: str | None) -> None:
    assert hint_of_root(f"a == {text}", 5) == hint


def test_a_field_that_other_languages_have() -> None:
    assert hint_of_field("length", "payload.items") == "write length(payload.items)"
    assert hint_of_field("toUpperCase", "payload.x") == "write upper(payload.x)"
    assert hint_of_field("replace", "payload.x") is None
    assert hint_of_field("colour", "payload.x") is None


@pytest.mark.parametrize(
    "text", ["a" * 4096 + "?", "a." * 2000 + "?", "(" * 30 + "a " * 900, "'a'" * 900]
)
def test_the_work_on_a_long_text_is_bounded(text: str) -> None:
    faults(compiled, text[-4096:])


def test_every_row_has_only_names_that_it_fills() -> None:
    """A row that names a group it lacks would fail only for those who need it."""
    for pattern, words in (*ROWS, *ROOTS):
        names = {*re.compile(pattern).groupindex, *FORMS}
        words.format(**dict.fromkeys(names, "x"))
