"""`# check: ignore`: where it reaches, what it may not do, and what is said of it."""

import pytest

from router.config import Loaded, load

HEAD = """\
version: 1
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}
rules:
"""
UNKNOWN = "lottery/request"


def loaded(rules: str) -> Loaded:
    return load(HEAD + rules, path="rules.yaml", env={}, thorough=True)


def said(rules: str) -> list[tuple[str, int, int]]:
    return [(d.code, d.line, d.column) for d in loaded(rules).diagnostics]


def rule(events: str, *, before: str = "", log: str = "hi") -> str:
    above = f"    {before}\n" if before else ""
    return f"  - id: a\n    from: shop\n{above}    events: {events}\n    actions: {{log: {log}}}\n"


def test_without_a_pragma_it_is_said() -> None:
    assert said(rule(UNKNOWN)) == [("unknown-event", 7, 13)]


PRAGMA, BOTH = "# check: ignore unknown-event new in spring", "[lottery/request, parcels/*]"
SECOND = "# check: ignore glob-without-event new"


@pytest.mark.parametrize(
    "rules",
    [
        # behind the line it is about, or alone above it
        rule(f"{UNKNOWN}  {PRAGMA}"),
        rule(UNKNOWN, before=PRAGMA),
        rule(UNKNOWN, before=f"{PRAGMA}\n    # and some more words\n"),
        # several codes, and several pragmas
        rule(f"{BOTH}  # check: ignore unknown-event,glob-without-event new in spring"),
        rule(BOTH, before=f"{PRAGMA}\n    {SECOND}"),
        # behind the sign of a block text it is a comment
        rule(f">-  {PRAGMA}\n      {UNKNOWN}"),
        # inside a text it is text, and quoted in another comment none
        rule("orders/paid", log="'# check: ignore unknown-event in quotes'"),
        rule("orders/paid", log='"a # check: ignore unknown-event in quotes"'),
        rule("orders/paid", log="a#check:ignore#no-comment-either"),
        rule("orders/paid", before=f"# to keep it quiet write {PRAGMA}"),
    ],
)
def test_nothing_is_said(rules: str) -> None:
    assert said(rules) == []


def test_an_error_that_may_be_meant_leaves_a_ruleset() -> None:
    kept = loaded(rule("order/paid  # check: ignore misspelt-event a sender of our own"))
    assert kept.diagnostics == ()
    assert kept.ruleset is not None
    assert loaded(rule("order/paid")).ruleset is None


def test_all_lines_of_a_text_that_begins_there() -> None:
    rules = (
        "  - id: a\n    from: shop\n    events:\n"
        "      # check: ignore unknown-event new in spring\n"
        "      - >-\n        lottery/request\n    actions: {log: hi}\n"
    )
    assert said(rules) == []
    assert said(rules.replace("      # check: ignore unknown-event new in spring\n", "")) != []


def test_inside_a_text_of_several_lines_too() -> None:
    rules = (
        "  - id: a\n    from: shop\n    events: orders/paid\n    actions:\n      http:\n"
        "        url: https://erp.example.net/\n"
        "        text: |PRAGMA\n          order\n          {{ payload.cancel_reason }}\n"
    )
    pragma = "  # check: ignore nullable-template the shop gives one"
    assert said(rules.replace("PRAGMA", "")) == [("nullable-template", 13, 14)]
    assert said(rules.replace("PRAGMA", pragma)) == []


def test_inside_a_block_text_it_is_text() -> None:
    rules = (
        "  - id: a\n    from: shop\n    events: orders/paid\n    actions:\n      shell:\n"
        "        script: |\n          # check: ignore unknown-event a comment of the shell\n"
        "          make deploy\n"
    )
    assert said(rules) == []


def test_unused_it_is_reported_at_its_code() -> None:
    text = "orders/paid  # check: ignore unknown-event,glob-without-event new"
    assert said(rule(text)) == [("pragma-unused", 7, 42), ("pragma-unused", 7, 56)]


def test_unused_is_reported_by_a_thorough_load_without_errors_only() -> None:
    text = HEAD + rule("orders/paid  # check: ignore unknown-event new")
    assert load(text, path="rules.yaml", env={}).diagnostics == ()
    broken = rule("orders/paid  # check: ignore unknown-event new") + "  - id: b\n"
    assert all(code != "pragma-unused" for code, _, _ in said(broken))


@pytest.mark.parametrize(
    ("pragma", "column"),
    [
        ("# check: ignore", 30),
        ("# check: ignore unknown-event", 30),
        ("# check: ignore unknown-evnt new in spring", 46),
        ("# check: ignore bad-name new in spring", 46),
        ("# check: ignore pragma-unused new in spring", 46),
    ],
)
def test_a_bad_one_is_reported_and_keeps_nothing_quiet(pragma: str, column: int) -> None:
    found = said(rule(f"{UNKNOWN}  {pragma}"))
    assert found == [("unknown-event", 7, 13), ("pragma-bad", 7, column)]


def test_a_line_elsewhere_is_not_kept_quiet() -> None:
    rules = rule(f"{UNKNOWN}  # check: ignore unknown-event new")
    other = rules.replace("id: a", "id: b").replace("  # check: ignore unknown-event new", "")
    other = other.replace("log: hi", "log: ho")
    assert said(rules + other) == [("unknown-event", 11, 13)]
