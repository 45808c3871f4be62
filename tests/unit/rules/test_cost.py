"""What a file costs an event: by which key each rule is looked up, or why by none."""

from typing import Any

import pytest

from router.expressions import FieldNeed, encode_json
from router.rules.cost import NO_CONDITION, NO_SHARED_FIELD, Cost, CostSample, cost_json, cost_of
from tests.builders import a_rule, a_ruleset

RULES = (
    a_rule("paid", "payload.status == 'paid' && payload.n > 3", events=("orders/*",)),
    a_rule("main", ["payload.n", "starts_with(payload.ref, 'refs/heads/')"]),
    a_rule("odd", "payload.n != 1 && (payload.a || payload.b)", events=("orders/paid",)),
    a_rule("all"),
    a_rule("elsewhere", "payload.n == 1", sources=("other",)),
)


def a_sample(event: str = "orders/paid", **payload: Any) -> CostSample:
    return CostSample("shop", event, None, {"payload": payload, "event": event})


def costs(*samples: CostSample) -> Cost:
    return cost_of(a_ruleset(*RULES, defines={"x": "payload.n"}), samples)


def test_each_rule_has_its_key_or_the_reasons_for_none() -> None:
    paid, main, odd, everything, elsewhere = costs(a_sample()).rules
    assert paid.key == FieldNeed(("payload", "status"), ("paid",))
    assert main.key == FieldNeed(("payload", "ref"), (), ("refs/heads/",))
    assert elsewhere.key == FieldNeed(("payload", "n"), (1,))
    assert [u.text for u in odd.unusable] == ["payload.n != 1", "(payload.a || payload.b)"]
    assert [u.why for u in everything.unusable] == [NO_CONDITION]
    assert [rule.leaves for rule in (paid, main, odd, everything)] == [2, 2, 3, 1]


def test_samples_tell_how_often_a_rule_is_asked() -> None:
    """Of those that its head lets in."""
    found = costs(a_sample(status="paid"), a_sample(ref="refs/heads/x"), a_sample("products/new"))
    assert [(r.rule, r.asked, r.let_in) for r in found.rules] == [
        ("paid", 1, 2),
        ("main", 1, 3),
        ("odd", 2, 2),
        ("all", 3, 3),
        ("elsewhere", 0, 0),
    ]
    assert [(e.let_in, e.asked, e.most) for e in found.events] == [(4, 3, 4), (4, 3, 4), (2, 1, 2)]


@pytest.mark.parametrize(
    ("match", "why"),
    [
        ({"not": "payload.n == 1"}, "not: says what must not be"),
        ({"any": ["payload.n == 1", "payload.m == 1"]}, NO_SHARED_FIELD),
        ("def.x == 1", "def.… is computed only when it is asked for"),
    ],
)
def test_groups_and_definitions_are_named(match: Any, why: str) -> None:
    [rule] = cost_of(a_ruleset(a_rule("r", match), defines={"x": "payload.n"}), ()).rules
    assert [u.why for u in rule.unusable] == [why]


def test_it_is_json() -> None:
    first, *_ = cost_json(costs(a_sample()))["rules"]
    assert first["key"] == {
        "field": "payload.status",
        "equals": ["paid"],
        "begins_with": [],
        "ends_with": [],
        "holds": [],
    }
    assert encode_json(cost_json(costs(a_sample())))
