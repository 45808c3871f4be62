"""The index changes no match: indexed and linear readings agree on made-up rules and events."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from router.rules.index import Index, Prefixes, candidates_of, judge_of
from router.rules.specs import CompiledRule
from tests.builders import a_rule

FIELDS = st.sampled_from(["payload.a", "payload.b", "payload.a.c", "event", "payload.gone"])
LITERALS = st.sampled_from(["'x'", "'y'", "1", "1.0", "true", "null", '`"x"`'])
LEAVES = st.one_of(
    st.builds(lambda f, v: f"{f} == {v}", FIELDS, LITERALS),
    st.builds(lambda f, v: f"{v} == {f}", FIELDS, LITERALS),
    st.builds(lambda f, v: f"{f} != {v}", FIELDS, LITERALS),
    st.builds(lambda f: f"{f} > 0", FIELDS),
    st.builds(lambda f, p: f"starts_with({f}, '{p}')", FIELDS, st.sampled_from(["", "x", "xy"])),
    st.builds(lambda f, p: f"ends_with({f}, '{p}')", FIELDS, st.sampled_from(["", "z", "yz"])),
    st.builds(lambda f, p: f"contains({f}, '{p}')", FIELDS, st.sampled_from(["", "x", "y", "yz"])),
    st.builds(lambda f, p: f"glob({f}, '{p}')", FIELDS, st.sampled_from(["x", "x*", "*y", "xy*"])),
    st.builds(lambda f, v: f"contains(['y', {v}], {f})", FIELDS, st.sampled_from(["'x'", "`1`"])),
    FIELDS,
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"({a} && {b})", inner, inner),
        st.builds(lambda a, b: f"({a} || {b})", inner, inner),
        st.builds(lambda a: f"!({a})", inner),
    ),
    max_leaves=6,
)
ITEMS = st.one_of(
    CONDITIONS,
    st.builds(lambda each: {"any": each}, st.lists(CONDITIONS, min_size=1, max_size=3)),
    st.builds(lambda one: {"not": one}, CONDITIONS),
)
LISTS: list[Any] = [[], ["x"], ["xy", "x", 1], [["x"], None, "yz"], ["z", "z"]]
OBJECTS: list[Any] = [{"c": "x"}, {"c": 1}, {"c": ["y", "x"]}]
VALUES = st.sampled_from(
    ["x", "y", "", "xy", "xyz", "z", 1, 1.0, 0, True, False, None, *LISTS, *OBJECTS]
)
PAYLOADS = st.dictionaries(st.sampled_from(["a", "b"]), VALUES)


@given(st.lists(st.lists(ITEMS, max_size=2), max_size=8), PAYLOADS, VALUES)
def test_indexed_and_linear_match_the_same_rules(
    matches: list[list[Any]], payload: Any, event: Any
) -> None:
    """In the same order, each once."""
    rules = [a_rule(f"r{i}", match) for i, match in enumerate(matches)]
    scope = {"payload": payload, "event": event}
    indexed = [
        c.rule.id
        for c in Index(candidates_of(rules)).candidates(scope)
        if c.judge is None or c.judge(scope) is True
    ]
    linear = [r.id for r in rules if (j := judge_of(r)) is None or j(scope) is True]
    assert indexed == linear


@given(st.dictionaries(st.text("xyz", max_size=4), st.integers(0, 9)), st.text("xyz", max_size=6))
def test_prefixes_are_found_as_by_trying_each(filed: dict[str, int], text: str) -> None:
    known = {prefix: (a_rule(f"r{n}"),) for prefix, n in filed.items()}
    found = Prefixes(known).of(text)  # type: ignore[arg-type]
    wanted = [known[prefix] for prefix in sorted(known) if text.startswith(prefix)]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))


SOUGHT = st.one_of(
    st.builds(lambda f, p: f"contains({f}, '{p}')", FIELDS, st.sampled_from(["x", "y", "yz"])),
    st.builds(lambda f, p: f"ends_with({f}, '{p}')", FIELDS, st.sampled_from(["z", "yz"])),
)
SEEKERS = st.one_of(
    SOUGHT,
    st.builds(lambda a, b: f"{a} || {b}", SOUGHT, SOUGHT),
    st.builds(lambda a, v: f"{a} || payload.a == {v}", SOUGHT, LITERALS),
    st.builds(lambda a, p: f"{a} || starts_with(payload.a, '{p}')", SOUGHT, st.just("x")),
)


@settings(max_examples=500)
@given(st.lists(SEEKERS, max_size=8), PAYLOADS, VALUES)
def test_what_is_sought_errs_with_an_index_as_without(
    matches: list[str], payload: Any, event: Any
) -> None:
    """A field that is not there, or can hold or end with nothing, is an error by either way."""
    rules = [a_rule(f"r{i}", match) for i, match in enumerate(matches)]
    scope = {"payload": payload, "event": event}
    indexed = {c.rule.id: c.judge(scope) for c in Index(candidates_of(rules)).candidates(scope)}  # type: ignore[misc]
    for rule in rules:
        judge = judge_of(rule)
        assert judge is not None
        assert indexed.get(rule.id, False) == judge(scope), rule.match[0].source


TEXTS = [a + b + c for a in ("", *"xyz") for b in "xyz" for c in ("", *"xyz")]
MANY = [a_rule(f"r{n}", f"contains(payload.a, '{text}')") for n, text in enumerate(TEXTS * 3)]


@given(st.integers(1, len(MANY)), st.integers(0, 2), st.text("wxyz", max_size=40))
def test_many_parts_are_found_as_by_trying_each(count: int, shortest: int, text: str) -> None:
    """Whether each is sought in the text, or the text's pieces are looked up."""
    rules: list[CompiledRule] = [rule for rule in MANY[:count] if len(_part(rule)) > shortest]
    found = Index(candidates_of(rules)).candidates({"payload": {"a": text}})
    assert [c.rule.id for c in found] == [rule.id for rule in rules if _part(rule) in text]


def _part(rule: CompiledRule) -> str:
    return rule.match[0].source.split("'")[1]
