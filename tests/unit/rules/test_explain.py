"""Explaining: every rule's status and leaves, as the matcher has it."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from router.cli.explain_text import rule_lines
from router.expressions import compile as compiled
from router.model.job import Group
from router.rules.explain import Explainer, RuleReading, near_misses
from router.rules.explain_words import NO_TURN
from router.rules.match import Matcher
from router.rules.scope import delivery_roots, event_scope
from router.rules.specs import CompiledRule, Concurrency
from tests.builders import a_delivery, a_rule, a_ruleset, an_event
from tests.properties.test_index import CONDITIONS, PAYLOADS

PAYLOAD = {"a": "x", "b": 3, "c": None}


def explained(*rules: CompiledRule, payload: Any = None, **given: Any) -> dict[str, RuleReading]:
    ruleset = a_ruleset(*rules)
    event = an_event(payload=PAYLOAD if payload is None else payload, **given)
    delivery = a_delivery()
    scope = event_scope(delivery_roots(delivery, {}), delivery, event, {})
    found = Explainer(ruleset).explain("shop", event, scope)
    return {reading.rule.id: reading for reading in found}


def test_every_rule_has_its_status() -> None:
    found = explained(
        a_rule("hit", "payload.a == 'x'"),
        a_rule("miss", "payload.a == 'y'"),
        a_rule("odd", "payload.a > 1"),
        a_rule("shadow", mode="shadow"),
        a_rule("paused", mode="paused"),
        a_rule("shadow-miss", "payload.c", mode="shadow"),
        a_rule("other-event", events=("orders/create",)),
        a_rule("other-endpoint", sources=("elsewhere",)),
        a_rule("rest", otherwise=True),
    )
    assert {name: reading.status for name, reading in found.items()} == {
        "hit": "matched",
        "miss": "not matched",
        "odd": "error",
        "shadow": "shadow",
        "paused": "paused",
        "shadow-miss": "not matched",
        "other-event": "not for this event",
        "other-endpoint": "not for this endpoint",
        "rest": "quiet",
    }
    assert found["rest"].quieted_by == ("hit",)


def test_a_run_whose_group_lacks_a_part_is_said_to_take_no_turn() -> None:
    found = explained(
        *(
            a_rule(name, concurrency=Concurrency(compiled(group), Group()))
            for name, group in (("part", "[payload.a, payload.gone]"), ("whole", "payload.a"))
        )
    )
    assert {name: reading.ungrouped for name, reading in found.items()} == {
        "part": True,
        "whole": False,
    }
    assert f"    {NO_TURN}" in rule_lines(found["part"])


def test_the_head_is_distinguished_from_the_conditions() -> None:
    found = explained(
        a_rule("r", "payload.a == 'y'", events=("orders/create",)),
        a_rule("s", sources=("elsewhere",)),
    )
    assert (found["r"].from_holds, found["r"].events_hold, found["r"].items) == (True, False, ())
    assert (found["s"].from_holds, found["s"].events_hold) == (False, True)


def test_only_live_rules_that_name_the_endpoint_keep_otherwise_quiet() -> None:
    found = explained(
        a_rule("all", sources=None),
        a_rule("shadow", mode="shadow"),
        a_rule("rest", otherwise=True),
        a_rule("rest-not", "payload.c", otherwise=True),
    )
    assert found["rest"].status == "matched"
    assert found["rest-not"].status == "not matched"


def test_what_the_index_passes_over_is_said_with_the_key() -> None:
    found = explained(
        a_rule("y", ["payload.a == 'y' || payload.a == 'z'", "payload.b > 5"]),
        a_rule("gone", "payload.gone == 1"),
        a_rule("through", "payload.a.deep == 1"),
        a_rule("part", "contains(payload.a, 'y')"),
        a_rule("errs", "contains(payload.gone, 'y')"),
        a_rule("x", "payload.a == 'x' && payload.b > 5"),
    )
    passed = found["y"].passed
    assert passed is not None
    assert (passed.need.path, passed.need.values) == (("payload", "a"), ("y", "z"))
    assert passed.found == "x"
    for name in ("gone", "through"):
        passed = found[name].passed
        assert passed is not None
        assert not passed.there
    passed = found["part"].passed
    assert passed is not None
    assert passed.need.parts == ("y",)
    assert found["x"].passed is None
    assert (found["errs"].passed, found["errs"].status) == (None, "error")


def test_a_rule_passed_over_is_read_all_the_same() -> None:
    reading = explained(a_rule("y", ["payload.a == 'y'", "payload.b > 5"]))["y"]
    assert [leaf.verdict for leaf in reading.leaves] == ["false", "false"]
    assert [leaf.number for leaf in reading.leaves] == [1, 2]
    assert reading.missing == 2


def test_near_misses_come_nearest_first() -> None:
    found = explained(
        a_rule("two", ["payload.a == 'y'", "payload.b > 5"]),
        a_rule("hit"),
        a_rule("one", ["payload.a == 'x'", {"not": "payload.b == 3"}]),
        a_rule("one-of-two", {"any": ["payload.a == 'y'", "payload.b > 5"]}),
    )
    assert [r.rule.id for r in near_misses(list(found.values()))] == ["one", "one-of-two", "two"]
    assert found["one"].pivots == (2,)
    assert found["one-of-two"].pivots == (1, 2)


def test_a_false_item_outweighs_one_that_errs() -> None:
    reading = explained(a_rule("r", ["payload.a > 1", "payload.c"]))["r"]
    assert reading.status == "not matched"
    assert reading.missing == 2


RULES = st.lists(
    st.builds(
        lambda match, mode, sources, otherwise: a_rule(
            "r", match, mode=mode, sources=sources, otherwise=otherwise
        ),
        st.lists(
            st.one_of(
                CONDITIONS,
                CONDITIONS.map(lambda c: {"not": c}),
                st.lists(CONDITIONS, min_size=1, max_size=2).map(lambda c: {"any": c}),
            ),
            max_size=2,
        ),
        st.sampled_from(["live", "live", "shadow", "paused"]),
        st.sampled_from([("shop",), ("shop",), None, ("elsewhere",)]),
        st.booleans(),
    ),
    max_size=6,
)


@given(RULES, PAYLOADS)
def test_it_says_what_the_matcher_does(made: list[CompiledRule], payload: Any) -> None:
    """And errs wherever it errs."""
    rules = [msgspec.structs.replace(rule, id=f"r{i}") for i, rule in enumerate(made)]
    found = explained(*rules, payload=payload)
    delivery, event = a_delivery(), an_event(payload=payload)
    scope = event_scope(delivery_roots(delivery, {}), delivery, event, {})
    matches = Matcher(a_ruleset(*rules)).match("shop", "orders/paid", None, scope)
    reported = {s: [n for n, r in found.items() if r.status == s] for s in ("matched", "shadow")}
    reported["paused"] = [n for n, r in found.items() if r.status == "paused"]
    assert reported["matched"] == [r.id for r in matches.live]
    assert reported["shadow"] == [r.id for r in matches.shadow]
    assert reported["paused"] == [r.id for r in matches.paused]
    for name, _ in matches.errors:
        assert found[name].status == "error"
        assert found[name].passed is None
