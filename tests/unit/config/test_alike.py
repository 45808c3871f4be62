"""Rules that are alike: one is checked for all, and what is wrong in any of them is still said."""

import pytest

from router.config import load
from router.config.alike import Likeness, RulesAlike
from router.config.language import Written
from router.expressions import SimilarExpressions, compile_template
from router.expressions import compile as compiled
from router.rules.specs import CompiledRule, Condition
from router.typing.lattice import TEXT, Type, closed_object
from router.typing.run import NO_CLUES
from router.typing.scenes import Scene
from router.yaml_source import Scalar, SourceText

HEAD = """version: 1
endpoints:
  shop: {paths: /shop, provider: shopify, verify: none}
rules:
"""
ROOTS = closed_object(
    {
        "shop": Type(TEXT),
        "name": Type(TEXT),
        "topic": Type(TEXT, texts=frozenset({"a", "b"})),
        "day": Type(TEXT, format="date"),
    }
)
SCENES = (Scene("a", ROOTS, NO_CLUES),)


def said(*rules: tuple[str, str]) -> list[tuple[int, str]]:
    """The line within its rule, and the code, of what is found in rules of (match, log)."""
    text = HEAD + "".join(
        f"  - id: r{at}\n    from: shop\n    match: {match}\n    actions: {{log: '{log}'}}\n"
        for at, (match, log) in enumerate(rules)
    )
    found = load(text, path="rules.yaml", env={}).diagnostics
    return [((d.line - 5) % 4, d.code) for d in found if d.line - 5 >= 4 * (len(rules) - 1)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("topic == 'orders/paid' && shop == 'a.b'", "topic == 'orders/paid' && shop == 'b.b'"),
        ("topic == 'orders/paid' && shop == 'a'", "topic == 'orders/piad' && shop == 'b'"),
        ("topic == 'orders/paid' && shop == 'a'", "topic == 'app/uninstalled' && shop == 'a'"),
        ("shop == 'a' || shop == 'b'", "shop == 'a' || shop == 'a'"),
        ("shop == 'a' && shop == 'a'", "shop == 'a' && shop == 'b'"),
        ("shop != 'a.b' && shop != 'c.b'", "shop != 'a.b' && shop != 'a.b'"),
        ("endpoint == 'shop' && shop == 'a'", "endpoint == 'shpo' && shop == 'b'"),
        ("payload.name == 'a' && shop == 'a'", "payload.nmae == 'a' && shop == 'b'"),
    ],
)
def test_what_is_said_of_the_second_is_what_is_said_of_it_alone(first: str, second: str) -> None:
    log = "{{ payload.id }}"
    assert said((f'"{first}"', log), (f'"{second}"', log)) == said((f'"{second}"', log))


def test_what_an_action_sends_counts_too() -> None:
    match = "topic == 'orders/paid' && shop == 'a'"
    wrong = (f'"{match}"', "{{ payload.nmae }}")
    assert said((f'"{match}"', "{{ payload.name }}"), wrong) == said(wrong) != []


def likeness(alike: RulesAlike, match: str, log: str = "x") -> Likeness | None:
    test = SimilarExpressions(compiled).compile(match)
    node = Scalar(log, "", 0, 1)
    rule = CompiledRule(
        "r", "", "live", None, None, (Condition(match, test=test),), otherwise=False, actions=()
    )
    written = (
        Written(SourceText(match, node), test, "'match'"),
        Written(SourceText(log, node), compile_template(log), "a log line"),
    )
    return alike.likeness(rule, written, SCENES)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("topic == 'a' && shop == 'shop-1.test'", "topic == 'a' && shop == 'shop-22.test'", True),
        ("topic == 'a' && shop == 'x'", "topic == 'b' && shop == 'x'", False),
        ("shop == 'x'", "shop == 'X'", False),
        ("shop == 'x'", "shop == '12'", False),
        ("shop == 'x'", "shop == 'null'", False),
        ("shop == 'x'", "shop == ''", False),
        ("shop == 'x'", "shop != 'x'", False),
        ("day == '2026-01-01'", "day == '2026-01-02'", False),
        ("shop == 'x' && shop != 'y'", "shop == 'z' && shop != 'y'", False),
        ("shop == 'x' && name == 'y'", "shop == 'z' && name == 'z'", True),
        ("shop == 'x' || name == 'y'", "shop == 'z' || name == 'y'", False),
    ],
)
def test_which_texts_may_differ(one: str, other: str, same: bool) -> None:
    alike = RulesAlike()
    alike.right.add(likeness(alike, one))
    assert likeness(alike, one) in alike.right
    assert (likeness(alike, other) in alike.right) is same


def test_a_text_that_something_else_reads_may_not_differ() -> None:
    for log in ("{{ shop }}", "{{ length(keys($)) }}"):
        alike = RulesAlike()
        alike.right.add(likeness(alike, "shop == 'x'", log))
        assert likeness(alike, "shop == 'y'", log) not in alike.right
