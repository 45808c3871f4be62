"""Which rules an event is not evaluated against."""

from router.rules.index import Index, candidates_of
from router.rules.specs import CompiledRule
from tests.builders import a_rule


def an_index(rules: list[CompiledRule]) -> Index:
    """The index of some rules."""
    return Index(candidates_of(rules))


def candidates(index: Index, **payload: object) -> list[str]:
    """The ids of an event's candidates."""
    return [c.rule.id for c in index.candidates({"payload": payload, "event": "push"})]


def test_only_rules_whose_value_is_there_are_candidates() -> None:
    """In file order, with those that no index can hold."""
    index = an_index(
        [
            a_rule("a", "payload.shop == 'x' && payload.n > 3"),
            a_rule("free", "payload.n > 3"),
            a_rule("b", "payload.shop == 'y'"),
            a_rule("c", ["payload.n", "payload.shop == 'y' || payload.shop == 'x'"]),
        ]
    )
    assert candidates(index, shop="x") == ["a", "free", "c"]
    assert candidates(index, shop="y") == ["free", "b", "c"]
    assert candidates(index) == ["free"]


def test_the_rarest_value_files_a_rule() -> None:
    """A condition that all share would sort out nothing."""
    index = an_index(
        [a_rule(f"r{i}", f"payload.kind == 'k' && payload.n == {i}") for i in range(5)]
    )
    assert candidates(index, kind="k", n=3) == ["r3"]
    assert candidates(index, kind="other", n=3) == ["r3"]


def test_true_is_not_one() -> None:
    """Numbers go by value, booleans apart."""
    index = an_index([a_rule("one", "payload.n == 1"), a_rule("true", "payload.n == true")])
    assert candidates(index, n=1) == ["one"]
    assert candidates(index, n=1.0) == ["one"]
    assert candidates(index, n=True) == ["true"]


def test_nothing_under_not_any_or_a_definition_is_used() -> None:
    """They are always candidates."""
    index = an_index(
        [
            a_rule("not", {"not": "payload.n == 1"}),
            a_rule("any", {"any": ["payload.n == 1", "payload.m == 1"]}),
            a_rule("def", "def.x == 1"),
            a_rule("none"),
        ]
    )
    assert candidates(index, n=2) == ["not", "any", "def", "none"]
