"""Formats of texts: what functions give always fits theirs, and what cannot be one is answered."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.errors import EvaluationError
from router.expressions import compile as compiled
from router.typing.formats import FORMATS, misfits
from router.typing.lattice import ABSENT, NULL, TEXT, Type, closed_object, list_of
from router.typing.shapes import FORMATS as WRITTEN
from tests.verdict_bits import verdict_bits

GIVEN = {
    "lower": "lower",
    "upper": "upper",
    "domain_of": "domain",
    "date": "day",
}
TEXTS = st.text(max_size=12) | st.text(alphabet="aAß İΣσς.@:/[]> \t-01", max_size=12)
TIMES = st.datetimes().map(lambda time: f"{time.isoformat()}Z")


def given_by(function: str, text: str) -> str | None:
    try:
        found = compiled(f"{function}(a)").value({"a": text})
    except EvaluationError:
        return None
    return str(found)


@given(TEXTS | TIMES, st.integers(0, 12), st.integers(0, 12))
def test_what_a_function_gives_is_of_its_format(text: str, start: int, end: int) -> None:
    for function, name in GIVEN.items():
        if (found := given_by(function, text)) is not None:
            assert misfits(name, found) is None, (function, text)
            assert misfits(name, found[:start], "begin") is None, (function, text, start)
            assert misfits(name, found[start:], "end") is None, (function, text, start)
            assert misfits(name, found[start:end], "part") is None, (function, text, start, end)


@pytest.mark.long
def test_letters_that_change_case_in_strange_ways_do_it_once() -> None:
    every = [chr(number) for number in range(0x110000)]
    assert all(FORMATS["lower"].whole(letter.lower()) for letter in every)
    assert all(FORMATS["upper"].whole(letter.upper()) for letter in every)


FIELDS = {
    **dict.fromkeys(("text", "other"), Type(TEXT | NULL | ABSENT)),
    **{name: Type(TEXT | NULL | ABSENT, format=name) for name in (*WRITTEN, "joined")},
    "kind": Type(TEXT | NULL | ABSENT, known=frozenset({"paid", "pending"})),
    "list": list_of(Type(TEXT)),
}


def said(text: str) -> list[tuple[str, str | None]]:
    _, run = verdict_bits(compiled(text), closed_object(FIELDS))
    return [(finding.code, finding.hint) for finding in run.findings]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lower(text) == 'A@B.com'", "write 'a@b.com'"),
        ("upper(text) == 'eur'", "write 'EUR'"),
        ("domain_of(text) == '@Example.com'", "write 'example.com'"),
        ("domain_of(text) != 'user@example.com'", "write 'example.com'"),
        ("date(text) == '24.12.2026'", "write '2026-12-24'"),
        ("date(text) == now()", "write date(now())"),
        ("timestamp == '2026-01-01'", "write date(timestamp) == '2026-01-01'"),
        ("currency_code == 'eur'", "write 'EUR'"),
        ("currency_code == 'Euro'", "write the code, as in 'EUR'"),
        ("country_code == 'Germany'", "write the code, as in 'DE'"),
        ("contains(['DE', 'Austria'], country_code)", "write the code, as in 'DE'"),
        ("lowercase == 'EUR'", "write 'eur'"),
        ("git_ref == 'main'", "write 'refs/heads/main'"),
        ("git_branch == 'refs/heads/main'", "write 'main'"),
        ("git_tag == 'refs/tags/v1'", "write 'v1'"),
        ("text == 'null'", "write null without quotes"),
        ("starts_with(git_ref, 'v1')", None),
        ("starts_with(git_branch, 'refs/heads/')", None),
        ("ends_with(domain_of(text), '@example.com')", None),
        ("contains(lower(text), 'URGENT')", None),
        ("glob(git_ref, 'v*')", None),
        ("glob(git_branch, 'refs/heads/release-*')", None),
        ("glob(lower(text), '*URGENT*')", None),
        ("glob(git_ref, 'main')", "write 'refs/heads/main'"),
    ],
)
def test_a_text_that_is_never_written_so(text: str, hint: str | None) -> None:
    assert said(text) == [("wrong-format", hint)]


@pytest.mark.parametrize(
    "text",
    [
        "lower(text) == 'a@b.com'",
        "currency_code == 'XTS'",
        "currency_code == ''",
        "country_code != 'DE'",
        "git_ref == 'refs/heads/main'",
        "starts_with(git_ref, 'refs/tags/')",
        "starts_with(git_ref, 're')",
        "glob(git_ref, '*/main')",
        "glob(git_ref, 'refs/*/main')",
        "glob(git_branch, 'release/*')",
        "git_branch == 'feature/refs'",
        "git_sha == '0000000000000000000000000000000000000000'",
        "starts_with(git_sha, 'abc')",
        "glob(repository_name, 'acme/*')",
        "timestamp == '2026-01-01T00:00:00Z'",
        "starts_with(timestamp, '2026-')",
        "date(timestamp) == '2026-12-24'",
        "date(timestamp) == date(now())",
        "ends_with(email, '@example.com')",
        "starts_with(ip, '10.')",
        "domain_of(text) == 'example.com'",
        "ends_with(domain_of(text), '.example.com')",
        "lower(kind) == 'paid'",
        "starts_with(kind, 'pa')",
        "decimal(money) > 3",
        "starts_with(text, other)",
        "contains('a b', text)",
        "split(text, ',')",
        "cidr(ip, ['10.0.0.0/8', '192.0.2.0/24'])",
        "decimal('12') == 12",
    ],
)
def test_a_text_that_may_be_written_so(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("decimal(text) > decimal('1.000,50')", "always-fails"),
        ("cidr(ip, '10.0.0.0/33')", "always-fails"),
        ("cidr(ip, ['10.0.0.0/8', '10.0.0.0/33'])", "always-fails"),
        ("date('tomorrow') == '2026-01-01'", "always-fails"),
        ("age('yesterday') > 5", "always-fails"),
        ("split(text, '') == list", "always-fails"),
        ("div(decimal(text), 0) > 1", "always-fails"),
        ("decimal(kind) > 5", "always-fails"),
        ("contains('abc', 'b')", "always-true"),
        ("starts_with('abc', 'b')", "never-true"),
        ("contains('a', list)", "never-equal"),
        ("starts_with(kind, 'x')", "value-not-known"),
        ("glob(kind, 'x')", "value-not-known"),
        ("timestamp > now()", "never-ordered"),
    ],
)
def test_a_call_that_cannot_be_meant(text: str, code: str) -> None:
    assert [found for found, _ in said(text)] == [code]


def test_a_time_is_compared_by_its_age() -> None:
    _, run = verdict_bits(compiled("text > now()"), closed_object({"text": Type(TEXT)}))
    assert [finding.hint for finding in run.findings] == ["age(text) is its age in seconds"]


def test_a_call_of_constants_is_its_value() -> None:
    scope: dict[str, Any] = {"a": Type(TEXT)}
    _, run = verdict_bits(
        compiled("decimal(a) > 3 && decimal(a) < decimal('2')"), closed_object(scope)
    )
    assert [finding.code for finding in run.findings] == ["never-true"]
