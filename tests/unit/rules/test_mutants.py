"""Each way to change a rule, and that nothing else of the rule changes with it."""

import pytest

from router.config import load
from router.expressions import compile as compiled
from router.rules.mutants import changes_of, mutants_of
from router.rules.specs import CompiledRule, Condition
from tests.unit.cli.conftest import EXAMPLE


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("a >= 500", {"a > 500", "a >= 499", "a < 500"}),
        ("a > 500", {"a >= 500", "a > 501", "a <= 500"}),
        ("a <= 10.5", {"a < 10.5", "a <= 11.5", "a > 10.5"}),
        ("a < 1", {"a <= 1", "a < 0", "a >= 1"}),
        ("500 <= a", {"500 < a", "499 <= a", "500 > a"}),
        ("a > b", {"a >= b", "a <= b"}),
        ("a == 'x'", {"a != 'x'", "a == 'x~'"}),
        ("'x' != a", {"'x' == a", "'x~' != a"}),
        ("a == 5", {"a != 5", "a == 6"}),
        ("a == true", {"a != true"}),
        ("a != null", {"a == null"}),
        ("a == b", {"a != b"}),
        ("a", {"!(a)"}),
        ("!a", {"a"}),
        ("contains(a, 'x')", {"!(contains(a, 'x'))"}),
        ("a && b", {"`true` && b", "a && `true`", "!(a) && b", "a && !(b)", "a || b"}),
        ("a || b", {"`false` || b", "a || `false`", "!(a) || b", "a || !(b)", "a && b"}),
        ("!(a && b)", {"!(`true` && b)", "!(a && `true`)", "!(!(a) && b)", "!(a && !(b))",
                       "!(a || b)"}),
        ("items[?n > 1]", {"!(items[?n > 1])", "items[?n >= 1]", "items[?n > 2]"}),
    ],
)  # fmt: skip
def test_the_changes_of_an_expression(text: str, changes: set[str]) -> None:
    found = changes_of(compiled(text))
    assert {change.becomes for change in found} == changes
    assert len(found) == len(changes)


def test_joined_conditions_change_places_all_at_once_and_brackets_stay() -> None:
    texts = [change.becomes for change in changes_of(compiled("(a || b) && c  &&  d"))]
    assert "(a || b) || c  ||  d" in texts
    assert "(a && b) && c  &&  d" in texts


def test_a_change_says_in_words_what_it_is_and_where() -> None:
    found = {c.words: c.offset for c in changes_of(compiled("a && b.c >= 500"))}
    assert found == {
        "`&&` becomes `||` in `a && b.c >= 500`": 0,
        "`a` is left out": 0,
        "`a` becomes `!(a)`": 0,
        "`b.c >= 500` is left out": 5,
        "`b.c >= 500` becomes `b.c > 500`": 5,
        "`b.c >= 500` becomes `b.c >= 499`": 5,
        "`b.c >= 500` becomes `b.c < 500`": 5,
    }


def rule(match: str = "[]", **keys: str) -> CompiledRule:
    more = "".join(f", {key}: {value}" for key, value in keys.items())
    found = load(
        "version: 1\nendpoints: {any: {paths: /any, provider: none, verify: none}}\n"
        f"rules: [{{id: a, from: any, match: {match}{more}, actions: {{log: x}}}}]".replace(
            "match: [], ", ""
        ),
        path="rules.yaml",
        env={},
    )
    assert found.ruleset is not None, found.diagnostics
    return found.ruleset.rules[0]


def said(changed: CompiledRule) -> list[str]:
    return [mutant.change for mutant in mutants_of(changed)]


def test_events_go_all_together_and_one_by_one() -> None:
    found = list(mutants_of(rule(events="[x, y]")))
    assert [mutant.rule.events for mutant in found] == [None, ("y",), ("x",)]
    assert [mutant.place.way for mutant in found] == [(), (0,), (1,)]
    assert [m.rule.events for m in mutants_of(rule(events="x"))] == [None]


def test_otherwise_goes() -> None:
    (mutant,) = mutants_of(rule(otherwise="true"))
    assert not mutant.rule.otherwise
    assert mutant.change == "`otherwise` is left out"


def test_items_go_and_one_may_be_enough() -> None:
    found = list(mutants_of(rule("[payload.a, payload.b]")))
    assert [len(mutant.rule.match) for mutant in found[:3]] == [1, 1, 1]
    assert (found[0].rule.match[0].source, found[1].rule.match[0].source) == (
        "payload.b",
        "payload.a",
    )
    (either,) = found[2].rule.match
    assert [c.source for c in either.any_of or ()] == ["payload.a", "payload.b"]
    assert found[2].change == "one item of `match` is enough"


def test_not_goes_and_what_is_in_it_changes() -> None:
    assert said(rule("[{not: payload.a}]")) == [
        "`not: payload.a` is left out",
        "`not` is left out",
        "`payload.a` becomes `!(payload.a)`",
    ]


def test_of_any_each_goes_and_all_may_be_needed() -> None:
    found = list(mutants_of(rule("[{any: [payload.a, payload.b]}]")))
    assert [m.change for m in found] == [
        "`any: [payload.a, payload.b]` is left out",
        "`payload.a` is left out",
        "`payload.b` is left out",
        "all items of `any` are needed",
        "`payload.a` becomes `!(payload.a)`",
        "`payload.b` becomes `!(payload.b)`",
    ]
    (needed,) = found[3].rule.match
    for a in (True, False):
        for b in (True, False):
            scope = {"payload": {"a": a, "b": b}}
            assert _holds(needed, scope) is (a and b)


def _holds(condition: Condition, scope: dict[str, object]) -> bool:
    if condition.test is not None:
        return condition.test.verdict(scope) is True
    if condition.negate is not None:
        return not _holds(condition.negate, scope)
    return any(_holds(part, scope) for part in condition.any_of or ())


def _example() -> tuple[CompiledRule, ...]:
    found = load(EXAMPLE.read_text("utf-8"), path="rules.yaml", env={}).ruleset
    assert found is not None
    return found.rules


def test_when_of_an_action_goes_and_changes() -> None:
    paid = next(rule for rule in _example() if rule.id == "paid-orders-to-erp")
    whens = [
        action.when and action.when.text
        for mutant in mutants_of(paid)
        if mutant.place.key == "when"
        for action in mutant.rule.actions
        if action.id == "desk"
    ]
    assert whens == [None, "results.erp.status == 409", "results.erp.status != 410"]


def test_every_change_of_the_example_differs_from_all_others() -> None:
    for rule_ in _example():
        changes = [(mutant.place, mutant.change) for mutant in mutants_of(rule_)]
        assert len(set(changes)) == len(changes)
