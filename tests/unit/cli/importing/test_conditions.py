"""Trigger rules as people would write the conditions."""

import hashlib
from typing import Any

import pytest

from tests.differential.webhook.corpus import fits, value
from tests.unit.cli.importing.conftest import match_of, said, signed

A, B = value("a", "x"), value("b", "y")
KEY = "abcdef0123456789"


def hashed(place: str, text: str) -> str:
    return f"sha256({place}) == '{hashlib.sha256(text.encode()).hexdigest()}'"


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        (value("ref", "refs/heads/main"), "payload.ref == 'refs/heads/main'"),
        (value("n", "1"), "to_string(payload.n) == '1'"),
        (value("t", "true"), "to_string(payload.t) == 'true'"),
        (value("a-b.0.c", "x"), "payload.\"a-b\"[0].c == 'x'"),
        (value("@xml.-id", "x"), 'default(payload."@xml.-id", payload."@xml"."-id") == \'x\''),
        (value("shop.-id", "x"), "payload.shop.\"@id\" == 'x'"),
        (value("root.0.a", "x"), "payload[0].a == 'x'"),
        (value("X-Kind", "push", "header"), "headers.\"x-kind\" == 'push'"),
        (value("X-GitHub-Event", "push", "header"), "headers.\"x-github-event\" == 'push'"),
        (value("ref", "v1", "query"), "query.ref == 'v1'"),
        (value("author", "ann"), "payload.author == 'ann'"),
        ({"and": [value("key", KEY, "url"), A]}, "payload.a == 'x'"),
        ({"and": [value("key", KEY, "url"), value("env", "p", "url")]}, "query.env == 'p'"),
        ({"and": [value("env", "p", "url"), value("key", KEY, "url")]}, "query.env == 'p'"),
        ({"and": [signed("s"), value("X-Foo", KEY, "header")]}, f"headers.\"x-foo\" == '{KEY}'"),
        ({"or": [value("key", KEY, "url"), value("X-Key", KEY, "header")]}, None),
        (
            {"or": [A, value("t", "y", "url")]},
            {"any": ["payload.a == 'x'", hashed("query.t", "y")]},
        ),
        (
            {"and": [value("t", KEY, "url"), value("u", "z" * 16, "url"), A]},
            [hashed("query.u", "z" * 16), "payload.a == 'x'"],
        ),
        (value("a", "it's"), "payload.a == 'it\\'s'"),
        (value("a", "x\\"), 'payload.a == `"x\\\\"`'),
        (fits("a", "^x"), "matches(to_string(payload.a), '^x')"),
        (fits("a", "u"), ["exists(payload.a)", "matches(to_string(payload.a), 'u')"]),
        (fits("A", "u", "header"), "matches(headers.a, 'u')"),
        ({"and": [B, {"not": A}]}, ["payload.b == 'y'", "payload.a != 'x'"]),
        (
            {"and": [B, {"not": value("n", "1")}]},
            ["payload.b == 'y'", "exists(payload.n)", "to_string(payload.n) != '1'"],
        ),
        ({"not": A}, {"any": ["!exists(payload.a)", "payload.a != 'x'"]}),
        ({"and": [A, B]}, ["payload.a == 'x'", "payload.b == 'y'"]),
        ({"or": [A, B]}, {"any": ["payload.a == 'x'", "payload.b == 'y'"]}),
        (
            {"and": [A, {"or": [A, B]}]},
            ["payload.a == 'x'", {"any": ["payload.a == 'x'", "payload.b == 'y'"]}],
        ),
        (
            {"or": [A, {"and": [A, B]}]},
            {"any": ["payload.a == 'x'", "payload.a == 'x' && payload.b == 'y'"]},
        ),
        ({"not": {"not": A}}, "payload.a == 'x'"),
        ({"and": []}, None),
        (signed("s"), None),
        ({"and": [signed("s"), A]}, "payload.a == 'x'"),
        ({"and": [{"or": [signed("s"), signed("t")]}, A]}, "payload.a == 'x'"),
        (
            {"or": [{"and": [signed("s"), A]}, {"and": [signed("t"), B]}]},
            {
                "any": [
                    "delivery.verified_by == 'h0' && payload.a == 'x'",
                    "delivery.verified_by == 'h0_2' && payload.b == 'y'",
                ]
            },
        ),
    ],
)
def test_a_rule_is_the_condition_that_one_would_write(rule: dict[str, Any], match: Any) -> None:
    assert match_of(rule) == match


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({}, "never finds an empty rule true"),
        ({"or": []}, "never finds this rule true"),
        (fits("a", "("), "cannot read this regular expression"),
        (value("a", "x", "cookie"), "webhook knows no source 'cookie'"),
        ({"or": [A, value("Cookie", "x", "header")]}, "the router keeps no Cookie"),
        ({"or": [A, value("remote-addr", "x", "request")]}, "'request' cannot be read here"),
        ({"match": {"type": "glob"}}, "webhook knows no match of type 'glob'"),
        ({"or": [signed("s"), A]}, "without this signature the hook may run all the same"),
        ({"and": [signed("s"), signed("t")]}, "two signatures at once"),
        ({"and": [A, {"or": [{"and": [signed("s"), signed("t")]}]}]}, "two signatures at once"),
        ({"not": signed("s")}, "without this signature the hook may run all the same"),
        (signed(""), "never finds it true without 'secret'"),
        ({"match": {"type": "ip-whitelist"}}, "never finds it true without 'ip-range'"),
        (signed("s", type_="payload-hmac-md5"), "knows no match of type 'payload-hmac-md5'"),
        ({"and": "x"}, "a list was expected"),
    ],
)
def test_what_cannot_be_said_keeps_the_hook_out(rule: dict[str, Any], words: str) -> None:
    (line,) = [line for line in said({"trigger-rule": rule}) if line.startswith("error")][:1]
    assert words in line


def test_re2_prints_no_pattern_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    said({"trigger-rule": fits("a", "(geheim")})
    assert "geheim" not in capfd.readouterr().err


def test_a_match_without_a_parameter_is_told_of_that_alone() -> None:
    match = {"type": "value", "value": "x"}
    assert said({"trigger-rule": {"match": match}})[-1] == "error: webhook knows no source ''"
    assert not any("knows no key" in line for line in said({"trigger-rule": {"match": match}}))


def test_the_keys_of_compared_json_are_in_another_order() -> None:
    listed = "\n".join(said({"trigger-rule": value("a", "[1]")}))
    assert "compared with JSON as the sender writes it" in listed
