"""Two rulesets beside each other: what they say, and what that does to an event."""

from decimal import Decimal
from typing import Any

import pytest

from router.expressions import compile as compiled
from router.expressions import compile_template
from router.expressions.changes import Change, changes
from router.model.settings import SecretRef, Target
from router.rehearsal.diff import Comparison, Effect, plain, rule_changes, setting_changes
from router.rules.specs import CompiledRule
from tests.builders import a_delivery, a_log, a_rule, a_ruleset, a_shell, an_http

BODY = b'{"id": 7, "total": 512.50, "n": 3}'
HEADERS = (("content-type", "application/json"), ("x-shopify-topic", "orders/paid"))
MAILS = b'[{"event": "bounce", "email": "a@b"}, {"event": "click", "email": "c@d"}]'


def effects(old: list[CompiledRule], new: list[CompiledRule], **given: Any) -> list[Effect]:
    delivery = a_delivery(**{"provider": "commerce", "headers": HEADERS, "body": BODY, **given})
    sides = (a_ruleset(*rules, secrets={"erp": SecretRef("erp", "ERP")}) for rules in (old, new))
    return list(Comparison(*sides).effects(delivery, None))


def reported(
    old: list[CompiledRule], new: list[CompiledRule], **given: Any
) -> list[tuple[Any, ...]]:
    return [(e.rule, e.kind, e.shadow) for e in effects(old, new, **given)]


def test_rules_come_go_and_change() -> None:
    old = a_ruleset(a_rule("same", "payload.n == 1"), a_rule("gone"), a_rule("other", "payload.n"))
    new = a_ruleset(
        a_rule("same", "payload.n == 1", about="said otherwise"),
        a_rule("other", ["payload.n > 1", "event"], mode="shadow", actions=(a_log("x"),)),
        a_rule("new"),
    )
    other, added, removed = rule_changes(old, new)
    assert [(c.path, c.old, c.new) for c in other.changes] == [
        ("mode", "live", "shadow"),
        ("match[0]", "payload.n", "payload.n > 1"),
        ("match[1]", None, "event"),
        ("actions.log.message", "hello", "x"),
    ]
    assert (added.rule, added.kind, removed.rule, removed.kind) == (
        "new",
        "added",
        "gone",
        "removed",
    )


def test_what_rules_use_is_compared_once() -> None:
    """A target's own words are not told again of each action."""
    one, two = (Target("erp", url=url) for url in ("https://a", "https://b"))
    rules = [a_rule(actions=(an_http(target=target, url=None),)) for target in (one, two)]
    old = a_ruleset(rules[0], defines={"x": "payload.a"}, targets={"erp": one})
    new = a_ruleset(rules[1], defines={"x": "payload.b"}, targets={"erp": two})
    assert rule_changes(old, new) == ()
    assert [change.path for change in setting_changes(old, new)] == ["define.x", "targets.erp.url"]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ([], ["payload.n"], [("r", "newly matches", False)]),
        (["payload.n"], ["payload.gone"], [("r", "stops matching", False)]),
        (["payload.gone"], ["payload.gone > 1"], []),
        (["payload.n"], ["payload.id"], []),
    ],
)
def test_an_event_newly_matches_or_no_longer(old: list[str], new: list[str], wanted: Any) -> None:
    sides = [[a_rule("r", text) for text in texts] for texts in (old, new)]
    assert reported(*sides) == wanted


def test_a_shadow_acts_not() -> None:
    live, shadow = a_rule("r"), a_rule("r", mode="shadow")
    assert reported([shadow], [live]) == [("r", "newly matches", False)]
    assert reported([live], [shadow]) == [("r", "stops matching", False)]
    assert reported([], [shadow]) == [("r", "newly matches", True)]
    assert reported([shadow], [shadow]) == []


def test_what_is_sent_is_compared_without_secrets() -> None:
    def rule(path: str, total: Any) -> CompiledRule:
        made = an_http(
            path=compile_template(path),
            headers=(("x-key", compile_template("{{ secret.erp }}")),),
            body_kind="json",
            body={"total": total},
        )
        return a_rule("r", actions=(made,))

    old, new = rule("/o", compile_template("{{ payload.total }}")), rule("/o/{{ payload.id }}", "x")
    [effect] = effects([old], [new])
    [call] = effect.calls
    assert call.changes == (
        Change("url", "http://127.0.0.1:9000/in/o", "http://127.0.0.1:9000/in/o/7"),
        Change("body.total", Decimal("512.50"), "x"),
    )
    assert effects([old], [old]) == []


def test_actions_come_go_and_fail() -> None:
    old = a_rule("r", actions=(a_log("x", "one"), a_shell()))
    new = a_rule(
        "r",
        actions=(
            a_log("{{ payload.n }}", "two"),
            a_shell(argv=(compile_template("{{ payload.gone }}"),)),
        ),
    )
    [effect] = effects([old], [new])
    assert [(c.action, c.kind) for c in effect.calls] == [
        ("one", "removed"),
        ("shell", "changed"),
        ("two", "added"),
    ]
    assert any("cannot be rendered" in change.path for change in effect.calls[1].changes)


def test_a_batch_is_one_run_per_delivery() -> None:
    """And of a batch only events that were routed count."""
    given: dict[str, Any] = {"provider": "email", "headers": HEADERS[:1], "body": MAILS}
    whole = [a_rule("r", per_delivery=True)]
    assert reported([], whole, **given) == [("r", "newly matches", False)]
    assert len(reported([], [a_rule("r")], **given)) == 2
    delivery = a_delivery(**given)
    some = Comparison(a_ruleset(), a_ruleset(a_rule("r"))).effects(delivery, {1})
    assert [effect.index for effect in some] == [1]


def test_an_endpoint_that_is_gone_matches_nothing() -> None:
    old, new = a_ruleset(a_rule("r")), a_ruleset(a_rule("r"), endpoints={})
    delivery = a_delivery(provider="commerce", headers=HEADERS, body=BODY)
    [effect] = Comparison(old, new).effects(delivery, None)
    assert effect.kind == "stops matching"


def test_plain_values() -> None:
    """Texts of expressions, bodies decoded, folders relative."""
    assert plain(compiled("a.b"), "") == "a.b"
    assert plain([("x-a", b'{"n": 1.50}'), ("b", "/srv")], "/srv") == {
        "x-a": {"n": Decimal("1.50")},
        "b": ".",
    }
    assert plain(b"\xff", "") == "\\xff"
    assert plain(frozenset({"b", "a"}), "") == ["a", "b"]


def test_differences_are_reported_at_their_place() -> None:
    old = {"a": [1, {"x": 1}], "b": "t", "c": None}
    new = {"a": [1, {"x": 1.0}, 3], "b": "u", "d": 1}
    assert list(changes(old, new)) == [
        Change("a[2]", None, 3, added=True),
        Change("b", "t", "u"),
        Change("c", None, None, removed=True),
        Change("d", None, 1, added=True),
    ]
