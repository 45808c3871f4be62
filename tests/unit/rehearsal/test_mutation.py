"""Which tests notice a changed rule: a gap that was planted is found, and nothing else."""

import random

import pytest

from router.config import load, render_text
from router.config.rule_places import RulePlaces
from router.rehearsal.mutation import MutationResult, tried_mutants
from router.rehearsal.run import TrialRunner

HEAD = """\
version: 1
secrets: {shop: {env: A}, hub: {env: B}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
  code: {id: 2b7d0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: github, secrets: hub}
rules:
  - id: large
    from: shop
    events: orders/paid
    match: decimal(payload.total_price) >= 500
    actions: {log: hi}
tests:
"""


def sent(name: str, total: str, matched: str, event: str = "orders/paid") -> str:
    return (
        f"  - name: {name}\n"
        f"    send: {{endpoint: shop, event: {event}, set: {{total_price: '{total}'}}}}\n"
        f"    expect: {{matched: [{matched}]}}\n"
    )


AT, BELOW = sent("at", "500.00", "large"), sent("below", "499.50", "")
BOUND = "`decimal(payload.total_price) >= 500`"
OTHER = sent("another event", "900.00", "", "orders/create")


def tried(text: str, **most: int) -> tuple[MutationResult, RulePlaces]:
    loaded = load(text, path="rules.yaml", env={}, tests=True, thorough=True)
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    assert loaded.places is not None
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(7).randbytes)
    return tried_mutants(runner, loaded.trials, **most), loaded.places


def survivors(text: str) -> list[str]:
    result, places = tried(text)
    return [
        ":".join(map(str, places.of(one.rule, one.mutant.place))) + f" {one.mutant.change}"
        for one in result.tried
        if one.noticed_by is None
    ]


def test_a_rule_whose_every_change_some_test_notices_has_the_whole_score() -> None:
    result, _ = tried(HEAD + AT + BELOW + OTHER)
    assert [one.noticed_by for one in result.tried if one.noticed_by is None] == []
    assert result.noticed == len(result.tried) == 5
    assert (result.left, result.failing) == (0, ())


@pytest.mark.parametrize(
    ("tests", "gap"),
    [
        (
            sent("above", "900.00", "large") + BELOW + OTHER,
            f"rules.yaml:10:12 {BOUND} becomes `decimal(payload.total_price) > 500`",
        ),
        (
            AT + sent("far below", "1.00", "") + OTHER,
            f"rules.yaml:10:12 {BOUND} becomes `decimal(payload.total_price) >= 499`",
        ),
        (AT + BELOW, "rules.yaml:9:5 `events` is left out"),
    ],
)
def test_a_planted_gap_is_found_at_its_place(tests: str, gap: str) -> None:
    assert survivors(HEAD + tests) == [gap]


def test_without_tests_nothing_is_noticed() -> None:
    result, _ = tried(HEAD.removesuffix("tests:\n"))
    assert (result.noticed, len(result.tried)) == (0, 5)


def test_only_tests_that_send_to_its_endpoints_are_run_and_the_first_that_notices_ends_it() -> None:
    elsewhere = (
        "  - name: push\n    send: {endpoint: code, event: push}\n    expect: {matched: []}\n"
    )
    result, _ = tried(HEAD + elsewhere + AT + BELOW + OTHER)
    assert {one.noticed_by for one in result.tried} == {"at", "below", "another event"}


def test_another_rule_that_sees_the_change_notices_it() -> None:
    rest = "  - {id: rest, from: shop, otherwise: true, actions: {log: hi}}\ntests:\n"
    text = HEAD.replace("tests:\n", rest) + sent("at", "500.00", "large")
    assert "`otherwise` is left out" not in " ".join(survivors(text))


def test_of_too_many_the_first_are_tried_and_the_rest_is_counted() -> None:
    result, _ = tried(HEAD + AT + BELOW + OTHER, most=2)
    assert (len(result.tried), result.left) == (2, 3)


def test_tests_that_fail_as_it_is_are_named_and_nothing_is_tried() -> None:
    result, _ = tried(HEAD + AT + sent("wrong", "900.00", ""))
    assert (result.failing, result.tried) == (("wrong",), ())


def test_two_runs_say_the_same() -> None:
    text = HEAD + AT
    assert survivors(text) == survivors(text)


def test_a_place_within_a_text_and_within_lists_is_the_place_of_the_part() -> None:
    conditions = (
        "match:\n      - any:\n          - payload.test\n          - not: payload.confirmed\n"
        "      - 'payload.number > 5 && payload.name == ''it'''\n"
    )
    text = HEAD.replace("match: decimal(payload.total_price) >= 500\n", conditions)
    found = survivors(text.removesuffix("tests:\n"))
    assert "rules.yaml:12:13 `payload.test` is left out" in found
    assert "rules.yaml:13:18 `payload.confirmed` becomes `!(payload.confirmed)`" in found
    assert "rules.yaml:14:10 `payload.number > 5` is left out" in found
    assert "rules.yaml:14:32 `payload.name == 'it'` is left out" in found


def test_a_rule_that_hears_of_dead_jobs_is_tried_with_all_tests() -> None:
    rule = "  - {id: alarm, from: router, events: [job.dead, target.open], actions: {log: hi}}\n"
    calls = HEAD.replace("actions: {log: hi}", "actions: {http: https://erp.example.net/}")
    refused = sent("refused", "900.00", "large, alarm") + "    replies: {large/http: 410}\n"
    text = calls.replace("tests:\n", f"{rule}tests:\n") + refused
    result, _ = tried(text)
    alarms = {one.mutant.change: one.noticed_by for one in result.tried if one.rule == "alarm"}
    assert alarms["`job.dead` is left out of `events`"] == "refused"
