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
            a_rule("or", "payload.n == 1 || payload.m"),
            a_rule("def", "def.x == 1"),
            a_rule("none"),
        ]
    )
    assert candidates(index, n=2) == ["not", "any", "or", "def", "none"]


def test_a_beginning_is_looked_up() -> None:
    """Also that of an anchored glob, beside values of the same field; nested ones each once."""
    index = an_index(
        [
            a_rule("heads", "starts_with(payload.ref, 'refs/heads/')"),
            a_rule("refs", "starts_with(payload.ref, 'refs/') || payload.ref == 'refs/heads/x'"),
            a_rule("release", "glob(payload.ref, 'refs/heads/release-*')"),
            a_rule("tags", "starts_with(payload.ref, 'refs/tags/') && payload.n > 1"),
            a_rule("no", "glob(payload.ref, '*main')"),
        ]
    )
    assert candidates(index, ref="refs/heads/release-1") == ["heads", "refs", "release", "no"]
    assert candidates(index, ref="refs/heads/main") == ["heads", "refs", "no"]
    assert candidates(index, ref="refs/tags/v1") == ["refs", "tags", "no"]
    assert candidates(index, ref="other") == ["no"]
    assert candidates(index, ref=None) == candidates(index, ref=["refs/"]) == ["no"]


def test_alternatives_on_one_field_are_looked_up() -> None:
    """As an item `any`, as a list that contains it, and beside other conditions."""
    index = an_index(
        [
            a_rule("any", {"any": ["payload.c == 'DE'", "payload.c == 'FR' && payload.n"]}),
            a_rule("list", "contains(['DE', 'CH'], payload.c)"),
            a_rule("text", "contains('DEFR', payload.c)"),
        ]
    )
    assert candidates(index, c="DE") == ["any", "list", "text"]
    assert candidates(index, c="FR") == ["any", "text"]
    assert candidates(index, c="CH") == ["list", "text"]


def test_parts_and_endings_are_looked_up() -> None:
    """Of a text and of a list; what can hold or end with nothing is for evaluation to err with."""
    index = an_index(
        [
            a_rule("urgent", "contains(payload.t, 'urgent')"),
            a_rule("bug", "contains(payload.t, 'bug') || contains(payload.t, 'error')"),
            a_rule("py", "ends_with(payload.t, '.py')"),
            a_rule("either", "ends_with(payload.t, 'nt') || contains(payload.t, 'bug')"),
            a_rule("begins", "starts_with(payload.t, 'x') || contains(payload.t, 'bugs')"),
            a_rule("free", "payload.n"),
        ]
    )
    assert candidates(index, t="an urgent bug and an error") == ["urgent", "bug", "either", "free"]
    assert candidates(index, t="urgent.py") == ["urgent", "py", "free"]
    assert candidates(index, t="urgent") == ["urgent", "either", "free"]
    assert candidates(index, t="none") == candidates(index, t="") == ["free"]
    assert candidates(index, t=["urgent", 1]) == ["urgent", "py", "either", "begins", "free"]
    assert candidates(index, t=["bug"]) == ["bug", "py", "either", "begins", "free"]
    everyone = ["urgent", "bug", "py", "either", "begins", "free"]
    for neither in (None, 1, {"bug": 1}):
        assert candidates(index, t=neither) == everyone
    assert candidates(index) == everyone
    assert sorted(index.filing()) == [0, 1, 2, 3, 4]


def test_what_one_event_shares_with_others_is_one_tuple() -> None:
    """So that its evaluations are counted as one."""
    index = an_index([a_rule("part", "contains(payload.t, 'x')"), a_rule("free", "payload.n")])
    first, second = (index.candidates({"payload": {"t": text}}) for text in ("a", "b"))
    assert first is second
    assert isinstance(first, tuple)
