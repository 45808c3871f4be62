"""What each function means."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from router.errors import EvaluationError
from router.expressions import FUNCTIONS, Failed, rfc3339
from router.expressions import compile as compiled
from router.expressions.calls import _LAZY, _WORK
from router.expressions.regex import REGEX_FUNCTIONS

GIVEN: dict[str, Any] = {
    "delivery": {"received_at": "2026-11-20T12:00:00.500Z"},
    "tags": " vip, eu ,,x ",
    "name": "Ann",
    "null": None,
    "n": 5,
    "list": [3, Decimal("1.5"), 2],
    "map": {"DE": "100", "1": "one", "nil": None},
    "text": "a\r\nb\nc\n",
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("lower(name)", "ann"),
        ("upper(name)", "ANN"),
        ("trim(tags)", "vip, eu ,,x"),
        ("split(tags, ',')", ["vip", "eu", "", "x"]),
        ("split('', ',')", []),
        ("replace('a-b-c', '-', '+')", "a+b+c"),
        ("concat(name, ' ', n, ' ', 1.50, true)", "Ann 5 1.50true"),
        ("concat(name, gone)", None),
        ("concat(decimal('1e3'), decimal('0.0000001'))", "10000.0000001"),
        ("lines(text)", ["a", "b", "c"]),
        ("glob('orders/paid', 'orders/*')", True),
        ("glob('orders/paid', '*s/p*d')", True),
        ("glob('orders/paid', 'Orders/*')", False),
        ("glob('ab', 'ab*b')", False),
        ("glob('abb', 'ab*b')", True),
        ("glob('', '*')", True),
        ("glob('src/a/b.py', 'src/**')", True),
        ("glob('b.py', '**/b.py')", True),
        ("glob('src/a/b.py', '**/b.py')", True),
        ("glob('src/b.py', 'src/**/b.py')", True),
        ("glob('src/a/b.py', 'src/**/b.py')", True),
        ("glob('ab.py', '**/b.py')", False),
        ("glob('src/ab.py', 'src/**/b.py')", False),
        ("glob('a/b/x/c', 'a/**/b/**/c')", True),
        ("glob('srcs/b', 'src**/b')", True),
        ("any_glob(['doc/x', 'src/a/b.py'], 'src/**')", True),
        ("any_glob(['doc/x', 'lib/y'], 'src/**')", False),
        ("any_glob(`[1, null, [\"src/x\"]]`, '**')", False),
        ("any_glob(`[]`, '*')", False),
        ("glob('x', '')", False),
        ("if(n > 3, 'big', lower(n))", "big"),
        ("if(gone, 1, 2)", 2),
        ("default(gone, 'x')", "x"),
        ("default('', 'x')", ""),
        ("default(n, lower(n))", 5),
        ("exists($.map.nil)", True),
        ("exists(gone)", False),
        ("lookup(map, 'DE')", "100"),
        ("lookup(map, 1)", "one"),
        ("lookup(map, 'FR', '999')", "999"),
        ("lookup(map, gone, '999')", "999"),
        ("lookup(gone, 'DE', '999')", "999"),
        ("lookup(map, 'FR')", None),
        ("lookup(map, 'nil', 'x')", None),
        ("add(1, 2.5)", Decimal("3.5")),
        ("sub(1, 0.9)", Decimal("0.1")),
        ("mul(0.1, 3)", Decimal("0.3")),
        ("div(6, 3)", 2),
        ("div(1, 8)", Decimal("0.125")),
        ("round(2.5)", 2),
        ("round(3.5)", 4),
        ("round(2.675, 2)", Decimal("2.68")),
        ("round(1234, -2)", 1200),
        ("decimal('512.50')", Decimal("512.50")),
        ("decimal(' 7 ')", 7),
        ("decimal('1e3')", Decimal("1E+3")),
        ("date('2026-11-20T23:30:00-05:00')", "2026-11-21"),
        ("date(0)", "1970-01-01"),
        ("now()", "2026-11-20T12:00:00.500Z"),
        ("age('2026-11-20T12:00:00Z')", Decimal("0.5")),
        ("age('2026-11-20T11:59:00.5')", 60),
        ("age(1795176000)", Decimal("0.5")),
        ("age(gone)", None),
        ("cidr('10.1.2.3', '10.0.0.0/8')", True),
        ('cidr(\'::ffff:10.1.2.3\', `["192.168.0.0/16", "10.0.0.0/8"]`)', True),
        ("cidr('2001:db8::1', '10.0.0.0/8')", False),
        ("domain_of('Ann <Ann@Shop.Example>')", "shop.example"),
        ("domain_of('https://u:p@Shop.example:8443/x?y@z')", "shop.example"),
        ("domain_of('shop.example.')", "shop.example"),
        ("base64('é')", "w6k="),
        ("sha256('')", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("parse_json('{\"a\": [1.50, null]}')", {"a": [Decimal("1.50"), None]}),
        ("parse_json(absent)", None),
        ("sum(list)", Decimal("6.5")),
        ("avg(list)", Decimal("6.5") / 3),
        ("max(list)", 3),
        ("min(list)", Decimal("1.5")),
        ("sort(list)", [Decimal("1.5"), 2, 3]),
        ("ceil(1.2)", 2),
        ("floor(-1.2)", -2),
        ("abs(-1.20)", Decimal("1.20")),
        ("to_number('10.10')", Decimal("10.10")),
        ("to_number('nan')", None),
        ("to_number('1e999')", None),
        ("to_number('1_0')", None),
        ("to_string(list)", "[3,1.5,2]"),
        ("contains('foo1', 1)", False),
        ("contains(`[true]`, 1)", False),
    ],
)
def test_results(text: str, result: Any) -> None:
    found = compiled(text).search(GIVEN)
    if isinstance(result, Decimal) and text.startswith("avg"):
        assert abs(found - result) < Decimal("1e-20")
    else:
        assert found == result
        assert str(found) == str(result)


@pytest.mark.parametrize(
    "text",
    [
        "lower(n)",
        "decimal('ten')",
        "decimal('')",
        "decimal('1_000')",
        "decimal('NaN')",
        "div(1, 0)",
        "round(1.5, 0.5)",
        "round(1.5, 999)",
        "split(name, '')",
        "replace(name, '', 'x')",
        "date('yesterday')",
        "date('2026-13-01')",
        "age(-1)",
        "cidr('x', '10.0.0.0/8')",
        "cidr('10.0.0.1', 'x')",
        "sum(`[true]`)",
        'sort(`[1, "a"]`)',
        "split(name, null)",
        "lookup(name, 'x')",
        "concat(list)",
        'max_by(`[{"a": 1}, {"a": "x"}]`, &a)',
    ],
)
def test_errors(text: str) -> None:
    with pytest.raises(EvaluationError):
        compiled(text).search(GIVEN)


def test_now_needs_a_delivery() -> None:
    with pytest.raises(EvaluationError, match="received_at"):
        compiled("now()").search({})


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_null_subjects_give_null(name: str) -> None:
    function = FUNCTIONS[name]
    if not function.parameters or not function.parameters[0].subject:
        return
    others = ["'1'" if "string" in p.types else "1" for p in function.parameters[1:]]
    for subject in ("null", "gone"):
        text = f"{name}({', '.join([subject, *others])})"
        assert compiled(text).search(GIVEN) is None


_RIGHT: dict[str, Any] = {
    "string": "1",
    "number": 1,
    "boolean": True,
    "array": [1],
    "array[number]": [1],
    "array[string]": ["1"],
    "object": {"1": 1},
    "any": "1",
}
_OF_NAME: dict[str, Any] = {"ip": "10.0.0.1", "ranges": "10.0.0.0/8"}
_AMISS = ("right", "wrong", "absent", "null")
_OF_SEVERAL = sorted(
    name
    for name, function in FUNCTIONS.items()
    if not function.lazy and (function.most is None or function.most > 1) and name != "not_null"
)


def _parameters(name: str) -> list[Any]:
    """Those of a call with all arguments; three where any number is taken."""
    function = FUNCTIONS[name]
    return [function.parameter(at) for at in range(function.most or 3)]


def _fits(parameter: Any, value: Any) -> bool:
    taken = {kind: _RIGHT.get(kind) for kind in parameter.types}
    return "any" in taken or any(
        kind.startswith("array") if isinstance(value, list) else type(value) is type(right)
        for kind, right in taken.items()
    )


def _calls(name: str) -> Iterator[tuple[str, dict[str, Any], list[tuple[Any, str]]]]:
    """Every call with each argument right, of a wrong type, absent or null."""
    parameters = _parameters(name)
    for states in product(*(("right",) if p.pattern else _AMISS for p in parameters)):
        texts, scope = [], {}
        for at, (parameter, state) in enumerate(zip(parameters, states, strict=True)):
            right = _OF_NAME.get(parameter.name, _RIGHT.get(parameter.types[0]))
            wrong = next((v for v in (1, "1", {}, True) if not _fits(parameter, v)), None)
            written = "&@" if "expref" in parameter.types else "'1'" if parameter.pattern else ""
            texts.append(written or f"p{at}")
            if state != "absent":
                given = {"right": right, "wrong": right if wrong is None else wrong, "null": None}
                scope[f"p{at}"] = given[state]
        found = [
            (parameter, _state(scope, text))
            for parameter, text in zip(parameters, texts, strict=True)
        ]
        yield f"{name}({', '.join(texts)})", scope, found


def _state(scope: dict[str, Any], text: str) -> str:
    if text in ("&@", "'1'"):
        return "right"
    return "there" if scope.get(text) is not None else "null" if text in scope else "absent"


def _worst(found: list[tuple[Any, str]], scope: dict[str, Any]) -> str | None:
    """What the documentation says of the call; None where it depends on the function."""
    faults = set()
    for at, (parameter, state) in enumerate(found):
        if state == "there" and not _fits(parameter, scope[f"p{at}"]):
            faults.add("error")
        if state in ("absent", "null") and not {"any", "null"} & set(parameter.types):
            faults.add(state if parameter.subject else "error")
    return next((word for word in ("error", "absent", "null") if word in faults), None)


def _outcome(text: str, scope: dict[str, Any]) -> str:
    try:
        there, value = compiled(f"[exists({text}), {text}]").search(scope)
    except EvaluationError:
        return "error"
    return "absent" if not there else "null" if value is None else "value"


@pytest.mark.parametrize("name", _OF_SEVERAL)
def test_of_several_arguments_the_worst_counts_whatever_its_place(name: str) -> None:
    judged = set()
    for text, scope, found in _calls(name):
        wanted = _worst(found, scope)
        outcome = _outcome(text, scope)
        judged.add(wanted)
        if wanted is None:
            assert outcome != "error", (text, scope)
        else:
            assert outcome == wanted, (text, scope)
    assert "error" in judged


def test_permuted_arguments_have_one_verdict() -> None:
    scope = {"n": None, "x": 2, "t": "2"}
    for name in ("add", "sub", "mul", "div"):
        for one, two in (("n", "gone"), ("n", "t"), ("gone", "t"), ("x", "n"), ("x", "gone")):
            there, back = (
                compiled(f"{name}({a}, {b})").verdict(scope) for a, b in ((one, two), (two, one))
            )
            assert type(there) is type(back), (name, one, two)
            if isinstance(there, bool):
                assert there is back


def test_every_function_of_the_table_is_there_and_no_other() -> None:
    lazy = {name for name, function in FUNCTIONS.items() if function.lazy}
    assert lazy == set(_LAZY)
    assert set(FUNCTIONS) - lazy == {*_WORK, *REGEX_FUNCTIONS}
    assert sum(function.origin == "standard" for function in FUNCTIONS.values()) == 26


def test_results_are_bounded() -> None:
    big = {"t": "x" * 1_000_000, "l": ["x" * 1_000_000] * 3, "m": [[0] * 600_000] * 2}
    for text in ("concat(t, t)", "join('', l)", "replace(t, 'x', 'xx')", "m[]", "base64(t)"):
        with pytest.raises(EvaluationError, match="would have more than 1,0"):
            compiled(text).search(big)
    nine = "9" * 390
    with pytest.raises(EvaluationError, match="400 digits"):
        compiled(f"mul({nine}, {nine})").search({})


def test_rfc3339() -> None:
    assert rfc3339(1_795_176_000_123) == "2026-11-20T12:00:00.123Z"
    assert rfc3339(0) == "1970-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "contains(gone, decimal('no'))",
            "contains() needs array or string as 'subject', got null",
        ),
        ("contains(n, 'x')", "contains() needs array or string as 'subject', got number"),
        ("ends_with(text, n)", "ends_with() needs string as 'part', got number"),
        ("ends_with(n, gone)", "ends_with() needs string as 'text', got number"),
        ("split(gone, n)", "split() needs string as 'separator', got number"),
    ],
)
def test_of_two_arguments_the_first_wrong_one_is_the_error(text: str, reason: str) -> None:
    """It comes before what the second would err with; an absent subject is none."""
    assert compiled(text).verdict({"text": "x", "n": 1}) == Failed(reason)
