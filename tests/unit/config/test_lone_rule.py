"""One rule checked in place of all others of its file."""

import json

import pytest
import yaml

from router.config import KeptFiles, load
from router.config.lone_rule import CheckedCondition, check_rule, mended, rule_text
from router.rules.ruleset import Ruleset

FILE = """\
version: 1
include: more.yaml
secrets: {shop: {env: SHOP}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
rules:
  - {id: other, from: shop, match: def.total > 1, actions: {http: {target: erp}}}
"targets":
  erp: {url: "http://127.0.0.1:9"}
"""
MORE = """\
version: 1
define: {total: decimal(payload.total_price)}
rules: [{id: further, from: shop, actions: {log: x}}]
"""


@pytest.fixture(scope="module")
def ruleset() -> Ruleset:
    made = load(FILE, path="rules.yaml", env={}, files=KeptFiles({"more.yaml": MORE})).ruleset
    assert made is not None
    return made


def checked(ruleset: Ruleset, condition: str) -> CheckedCondition:
    text = rule_text("tried", endpoint="shop", event="orders/paid", condition=condition)
    return check_rule(ruleset, text)


@pytest.mark.parametrize(
    ("condition", "code", "mark", "better"),
    [
        ("payload.currency == EUR", "bare-word", "EUR", "payload.currency == 'EUR'"),
        (
            "def.total > 5 &&\n  payload.total_price > 500",
            "text-as-number",
            "payload.total_price > 500",
            "def.total > 5 &&\n  decimal(payload.total_price) > 500",
        ),
        (
            "payload.totl_price == '5'",
            "misspelt-field",
            "totl_price",
            "payload.total_price == '5'",
        ),
        ("payload.name == 'a: b' && def.totl > 1", "unknown-name", "def.totl", None),
        ("payload.name ==", "expression-syntax", "=", None),
    ],
)
def test_what_check_says_stands_in_the_condition_itself(
    ruleset: Ruleset, condition: str, code: str, mark: str, better: str | None
) -> None:
    [found] = checked(ruleset, condition).found
    line, start = condition.split("\n")[found.line - 1], found.column - 1
    assert (found.code, line[start : start + found.width]) == (code, mark)
    if better is not None:
        assert mended(condition, found) == better
        assert checked(ruleset, better).found == ()


@pytest.mark.parametrize("condition", ["", "def.total > 5", "payload.id > 1\n&& def.total > 5"])
def test_the_rule_is_that_of_the_file(ruleset: Ruleset, condition: str) -> None:
    made = checked(ruleset, condition).rule
    assert made is not None
    assert (made.id, made.sources, made.events) == ("tried", ("shop",), ("orders/paid",))
    assert bool(made.match) is bool(condition)


@pytest.mark.parametrize("condition", ["a == 'b: c'", "a == 'b' # c", "{a: b}", "a\n  == b", "'a'"])
def test_yaml_gives_the_condition_back(condition: str) -> None:
    text = rule_text("x", endpoint="shop", event='odd "name"\x07', condition=condition).text
    [rule] = yaml.safe_load(f"rules:\n{text}")["rules"]
    assert (rule["match"], rule["events"]) == (condition, 'odd "name"\x07')


def test_of_a_file_in_braces_nothing_is_said() -> None:
    entry = {"id": "0123456789abcdef", "provider": "github", "secrets": "s"}
    braces = json.dumps({"version": 1, "secrets": {"s": {"env": "S"}}, "endpoints": {"a": entry}})
    ruleset = load(braces, path="rules.json", env={}).ruleset
    assert ruleset is not None
    text = rule_text("x", endpoint="a", event="push", condition="payload.a == b")
    assert check_rule(ruleset, text).rule is None
