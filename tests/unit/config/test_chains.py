"""`after`, `when` and `concurrency` of a rules file."""

import pytest

from router.config import load, render_text
from router.model.job import Group, Predecessor
from router.rules.specs import CompiledRule

HEAD = """\
version: 1
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}
rules:
  - id: a
    from: shop
"""


def said(rule: str) -> str:
    return render_text(load(HEAD + rule, path="rules.yaml", env={}).diagnostics)


def compiled(rule: str) -> CompiledRule:
    loaded = load(HEAD + rule, path="rules.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    return loaded.ruleset.rules[0]


def actions(*given: str) -> str:
    return "    actions:\n" + "".join(f"      - {{log: x, {one}}}\n" for one in given)


@pytest.mark.parametrize(
    ("after", "needs"),
    [
        ("one", (Predecessor("one"),)),
        ("[one, two]", (Predecessor("one"), Predecessor("two"))),
        ("{one: dead}", (Predecessor("one", "dead"),)),
        ("{one: succeeded, two: ended}", (Predecessor("one"), Predecessor("two", "ended"))),
        ("[two, {one: dead}]", (Predecessor("two"), Predecessor("one", "dead"))),
        ("[]", ()),
    ],
)
def test_after_is_an_id_a_list_or_a_mapping(after: str, needs: tuple[Predecessor, ...]) -> None:
    rule = compiled(actions("id: one", "id: two", f"id: three, after: {after}"))
    assert rule.actions[2].after == needs


def test_an_omitted_id_is_the_kind() -> None:
    rule = compiled("    actions:\n      - log: x\n      - {id: y, after: log, log: y}\n")
    assert rule.actions[1].after == (Predecessor("log"),)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("oen", "did you mean 'one'?"),
        ("three", "no other action of this rule is called 'three'"),
        ("{one: ded}", "did you mean 'dead'?"),
        ("{one: [dead]}", "expected 'succeeded' or 'dead' or 'ended'"),
        ("[one, one]", "'one' is given twice"),
        ("[[one]]", "expected an action's id or a mapping, found a list"),
        ("~", "wrong-type"),
    ],
)
def test_what_is_wrong_with_after_is_said_once(after: str, words: str) -> None:
    text = said(
        actions("id: one", "id: two", f"id: other, after: {after}, when: results.one.message")
    )
    assert words in text
    assert text.count(" error ") == 1, text


@pytest.mark.parametrize(
    ("steps", "circle"),
    [
        (("id: one, after: one",), "one after one"),
        (("id: one, after: two", "id: two, after: one"), "one after two after one"),
        (
            ("id: zero, after: one", "id: one, after: two", "id: two, after: {one: dead}"),
            "one after two after one",
        ),
        # what lies behind a circle is in none
        (
            ("id: one, after: two", "id: two, after: one", "id: late, after: [one, two]"),
            "one after two after one",
        ),
    ],
)
def test_nobody_waits_for_himself(steps: tuple[str, ...], circle: str) -> None:
    text = said(actions(*steps))
    assert f"chain-cycle: an action would wait for itself: {circle}\n" in text
    assert text.count(" error ") == 1, text


def test_results_of_all_that_came_before_can_be_read() -> None:
    rule = compiled(
        "    actions:\n"
        "      - {id: one, log: x}\n"
        "      - {id: two, after: one, log: x}\n"
        '      - {id: three, after: two, when: results.one.message, log: "{{ results.two }}"}\n'
    )
    assert rule.actions[2].when is not None


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (("id: one, when: results.one.message",), "only an action with 'after' can read"),
        (("id: one", "id: two, when: results.one.message"), "only an action with 'after' can read"),
        (("id: one", "id: two", "id: three, after: one, when: results.two.x"), "known names: one"),
        (("id: first", "id: two, after: first, when: results.frist.x"), "did you mean 'first'?"),
        (("id: one", "id: two, after: one, when: length(results)"), "as in results.ID"),
    ],
)
def test_no_other_result_can_be_read(steps: tuple[str, ...], words: str) -> None:
    assert words in said(actions(*steps))


def test_when_needs_no_after() -> None:
    (action,) = compiled(actions("id: one, when: payload.total == 1")).actions
    assert (action.after, action.when is not None) == ((), True)


def test_when_reads_the_events_of_a_whole_batch() -> None:
    per = "    per: delivery\n" + actions("id: one, when: length(events) == 2")
    assert compiled(per).actions[0].when is not None


def test_a_group_is_one_at_a_time_and_queues_unless_it_says_more() -> None:
    rule = compiled("    concurrency: {group: payload.id}\n" + actions("id: one"))
    assert rule.concurrency is not None
    assert rule.concurrency.group == Group(1, "queue", "continue")
    full = "    concurrency: {group: payload.id, limit: 3, on_busy: drop}\n" + actions("id: one")
    found = compiled(full).concurrency
    assert found is not None
    assert found.group == Group(3, "drop", "continue")


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("{limit: 1}", "missing-key"),
        ("{group: payload.id, limit: 0}", "bad-value"),
        ("{group: payload.id, on_busy: latst}", "unknown-value"),
        ("{group: payload.id, on_busy: drop, on_dead: halt}", "halt-without-queue"),
        ("{group: results.one.message}", "root-not-here"),
        ("{group: secret.x}", "root-not-here"),
    ],
)
def test_what_a_group_cannot_be(entry: str, code: str) -> None:
    text = said(f"    concurrency: {entry}\n" + actions("id: one"))
    assert f" {code}: " in text


def test_two_circles_are_distinguished() -> None:
    text = said(
        actions("id: a, after: b", "id: b, after: a", "id: c, after: [d, a]", "id: d, after: c")
    )
    assert text.count("chain-cycle") == 2, text


def test_results_are_those_of_every_way_back() -> None:
    """Also when what lies behind one predecessor is known from an earlier action."""
    steps = "".join(
        f"      - {{id: s{n}, log: x, after: [{', '.join(f's{m}' for m in after)}]}}\n"
        for n, after in ((1, [0]), (2, [0]), (3, [1, 2]), (4, [3]))
    )
    rule = compiled(
        "    actions:\n      - {id: s0, log: x}\n" + steps + "      - id: last\n"
        '        after: [s4, s1]\n        log: "'
        + " ".join(f"{{{{ results.s{n} }}}}" for n in range(5))
        + '"\n'
    )
    assert rule.actions[-1].id == "last"
