"""Which rules match an event."""

from typing import Any

import pytest

from router.model.settings import OWN, Endpoint
from router.rules.match import Matcher, Matches
from router.rules.scope import delivery_roots, event_scope
from router.rules.specs import CompiledRule
from tests.builders import a_delivery, a_rule, a_ruleset, an_event


def matched(*rules: CompiledRule, payload: Any = None, event: str = "orders/paid") -> Matches:
    """The matches of one event of endpoint shop."""
    ruleset = a_ruleset(*rules)
    one = an_event(name=event, payload={"total": 10} if payload is None else payload)
    delivery = a_delivery()
    scope = event_scope(delivery_roots(delivery, {}), delivery, one, ruleset.defines)
    return Matcher(ruleset).match("shop", event, None, scope)


def ids(rules: tuple[CompiledRule, ...]) -> list[str]:
    """Their ids in order."""
    return [rule.id for rule in rules]


def test_all_matching_rules_fire_in_file_order() -> None:
    """Rules are independent; none stops another, nor does one that errs, which is named."""
    rules = (a_rule("b"), a_rule("bad", "payload.country != 'US'"), a_rule("c", "payload.no"))
    found = matched(*rules, a_rule("a", "payload.total >= 10"))
    assert ids(found.live) == ["b", "a"]
    assert [rule for rule, _ in found.errors] == ["bad"]


ANY_OF = [{"not": "payload.test"}, {"any": ["payload.x == 1", "payload.total == 10"]}]


@pytest.mark.parametrize(
    ("items", "payload", "wanted"),
    [
        (["payload.total > 1", "payload.total > 5"], None, "match"),
        (["payload.total > 1", "payload.total > 50"], None, "none"),
        (ANY_OF, None, "match"),
        (ANY_OF, {"total": 10, "test": True}, "none"),
        ({"not": "payload.nope > 1"}, None, "error"),
    ],
)
def test_a_list_is_and_not_turns_any_needs_one(items: Any, payload: Any, wanted: str) -> None:
    """An error is never turned into a match."""
    found = matched(a_rule("a", items), payload=payload)
    assert (len(found.live), len(found.errors)) == (wanted == "match", wanted == "error")


def test_one_false_item_makes_false_even_beside_an_error() -> None:
    """So the order of items cannot change a match, nor an error count."""
    for items in (
        ["payload.nope > 1", "payload.total > 50"],
        ["payload.total > 50", "payload.nope > 1"],
        ["payload.nope > 1", "payload.total", "payload.total > 50"],
    ):
        assert matched(a_rule("a", items)).errors == ()


def test_an_item_that_errs_hides_no_other_of_any() -> None:
    """In `any` one true makes it true, before an error or after it."""
    for items in (["payload.nope > 1", "payload.total > 1"], ["payload.total > 1", "payload.nope"]):
        assert ids(matched(a_rule("a", {"any": items})).live) == ["a"]
    found = matched(a_rule("a", {"any": ["payload.nope > 1", "payload.total > 50"]}))
    assert (ids(found.live), [rule for rule, _ in found.errors]) == ([], ["a"])


def test_the_head_keeps_other_events_and_endpoints_out() -> None:
    """`from` and `events` are looked up, not evaluated."""
    rules = (
        a_rule("other-endpoint", sources=("mail",)),
        a_rule("other-event", events=("orders/create",)),
        a_rule("everywhere", sources=None),
    )
    assert ids(matched(*rules).live) == ["everywhere"]


def test_shadow_rules_are_distinguished() -> None:
    """They match, but never act."""
    found = matched(a_rule("s", mode="shadow"), a_rule("p", mode="paused"))
    assert (ids(found.live), ids(found.shadow), ids(found.paused)) == ([], ["s"], ["p"])


def test_otherwise_only_when_no_live_rule_of_the_endpoint_matched() -> None:
    """`from: all`, shadow, paused and erring rules do not keep it quiet."""
    rest = a_rule("rest", otherwise=True)
    assert ids(matched(a_rule("a"), rest).live) == ["a"]
    assert ids(matched(a_rule("a", "payload.total > 50"), rest).live) == ["rest"]
    assert ids(matched(a_rule("err", "payload.nope > 1"), rest).live) == ["rest"]
    assert ids(matched(a_rule("all", sources=None), rest).live) == ["all", "rest"]
    assert ids(matched(a_rule("s", mode="shadow"), rest).live) == ["rest"]


def test_rules_for_every_event_and_rules_that_name_it_come_in_file_order() -> None:
    """However they were found."""
    rules = (
        a_rule("named", events=("orders/paid",)),
        a_rule("every"),
        a_rule("glob", events=("orders/*",)),
        a_rule("indexed", "payload.total == 10"),
        a_rule("action", events=("orders/paid.done", "orders/paid")),
    )
    assert ids(matched(*rules).live) == ["named", "every", "glob", "indexed", "action"]
    assert ids(matched(*rules, event="orders/new").live) == ["every", "glob", "indexed"]


def test_conditions_are_compiled_before_the_first_event() -> None:
    """A first delivery waits for nobody."""
    rule = a_rule("r", "payload.total == 10", events=("orders/*",))
    Matcher(a_ruleset(rule))
    expression = rule.match[0].test
    slot = type(expression).__dict__["verdict"]  # reading it any other way would compile it now
    assert callable(slot.__get__(expression))


def test_an_otherwise_rule_keeps_its_place_among_the_others() -> None:
    """A rule for all endpoints does not keep it quiet, and does not overtake it."""
    found = matched(a_rule("rest", otherwise=True), a_rule("all", sources=None))
    assert ids(found.live) == ["rest", "all"]


@pytest.mark.parametrize("written", ["target.failing", "target.open", "target.o*", "target.*"])
@pytest.mark.parametrize("event", ["target.failing", "target.open"])
def test_own_events_of_two_names_are_let_in_by_both(written: str, event: str) -> None:
    own = Endpoint(OWN, OWN, (), ())
    rules = (a_rule("r", events=(written,), sources=(OWN,)),)
    matcher = Matcher(a_ruleset(*rules, endpoints={OWN: own}))
    matches = matcher.match(OWN, event, None, {})
    assert [rule.id for rule in matches.live] == ["r"]


def test_a_sender_s_event_of_such_a_name_has_no_other() -> None:
    rules = (a_rule("r", events=("target.open",)),)
    matches = Matcher(a_ruleset(*rules)).match("shop", "target.failing", None, {})
    assert matches.live == ()
