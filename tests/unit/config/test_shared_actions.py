"""Shared actions: filled in at each use, checked at each use, told at both places."""

import pytest

from router.config import load
from router.config.loading import Loaded
from router.kinds.http import HttpSpec
from router.kinds.shell import ShellSpec
from router.rules.specs import CompiledAction

HEAD = """version: 1
secrets: {shop: {env: S}, hub: {env: H}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
  code: {id: 8c2f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: github, secrets: hub}
"""
TELL = """actions:
  tell:
    with: {channel: general}
    http:
      url: https://chat.example.net/T0
      json: {text: "{{ with.text }}", to: "{{ with.channel }}"}
    retry: short
"""


def loaded(shared: str, *actions: str, source: str = "shop", head: str = HEAD) -> Loaded:
    """A rule with these actions."""
    rule = f"rules:\n  - id: r\n    from: {source}\n    actions:\n"
    return load(
        head + shared + rule + "".join(f"      - {a}\n" for a in actions), path="r.yaml", env={}
    )


def actions_of(shared: str, *actions: str) -> tuple[CompiledAction, ...]:
    found = loaded(shared, *actions)
    assert found.ruleset is not None, found.diagnostics
    return found.ruleset.rules[0].actions


def codes(found: Loaded) -> list[tuple[str, int]]:
    return [(d.code, d.line) for d in found.diagnostics if d.code != "unused-secret"]


def test_the_rest_of_the_router_sees_an_ordinary_action() -> None:
    (one,) = actions_of(TELL, 'use: tell\n        with: {text: "{{ payload.name }}"}')
    assert (one.id, one.kind, one.target) == ("tell", "http", "https://chat.example.net:443")
    assert isinstance(one.spec, HttpSpec)
    assert one.retry.schedule_ms == (10_000, 60_000)
    assert [name for name, _ in one.given] == ["text", "channel"]


def test_a_use_has_its_own_id_retry_and_interruption() -> None:
    first, second = actions_of(
        TELL,
        "{id: one, use: tell, with: {text: hi}, retry: none, on_interrupt: dead}",
        "{id: two, use: tell, with: {text: [1, {a: 2}], channel: ops}}",
    )
    assert (first.id, first.retry.schedule_ms, first.on_interrupt) == ("one", (), "dead")
    assert dict(second.given)["text"] == [1, {"a": second.given[0][1][1]["a"]}]


def test_two_uses_without_ids_are_distinguished() -> None:
    found = loaded(TELL, "{use: tell, with: {text: a}}", "{use: tell, with: {text: b}}")
    assert codes(found) == [("duplicate-action", 18)]


def test_shell_and_targets_and_limits_may_be_shared() -> None:
    shared = "actions: {run: {shell: {argv: [x, --, '{{ with.a }}'], limits: {cpu: 1s}}}}\n"
    (one,) = actions_of(shared, "{use: run, with: {a: 1}}")
    assert isinstance(one.spec, ShellSpec)
    assert (one.target, one.spec.limits is not None) == ("r/run", True)


def test_expressions_are_checked_with_the_rule_s_own_events() -> None:
    """`shop` is a root of commerce events only: the same text is right here and wrong there."""
    shared = "actions: {say: {log: '{{ shop }} {{ with.a }}'}}\n"
    assert codes(loaded(shared, "{use: say, with: {a: 1}}")) == []
    found = loaded(shared, "{use: say, with: {a: 1}}", source="code")
    assert codes(found) == [("unknown-root", 6)]
    assert found.diagnostics[0].hint is not None
    assert found.diagnostics[0].hint.endswith("; used by the rule 'r' in line 11")


def test_a_fault_is_reported_once_however_often_it_is_used() -> None:
    shared = "actions: {say: {log: '{{ paylod.x }}'}}\n"
    found = loaded(shared, "{id: a, use: say}", "{id: b, use: say}", "{id: c, use: say}")
    assert codes(found) == [("unknown-root", 6)]


def test_parameters_are_missed_and_misspelt_at_the_use() -> None:
    found = loaded(TELL, "{use: tell, with: {txet: hi}}")
    assert codes(found) == [("missing-parameter", 17), ("unknown-parameter", 17)]
    assert [d.hint for d in found.diagnostics] == [
        "it is read in line 11: give it a value under 'with'",
        "did you mean 'text'?",
    ]


def test_the_values_are_checked_where_they_stand() -> None:
    found = loaded(TELL, "{use: tell, with: {text: '{{ paylod.name }}'}}")
    assert codes(found) == [("unknown-root", 17)]
    found = loaded(TELL, "{use: tell, with: {text: '{{ secret.shop }}'}}")
    assert codes(found) == [("root-not-here", 17)]


def test_with_is_a_name_in_shared_actions_alone() -> None:
    found = loaded("", "log: '{{ with.a }}'")
    assert codes(found) == [("root-not-here", 10)]
    assert found.diagnostics[0].hint is not None
    assert "only a shared action" in found.diagnostics[0].hint


def test_what_nobody_uses_is_warned_about_and_checked() -> None:
    found = loaded("actions: {say: {log: '{{ paylod.x }} {{ with.a }}'}}\n", "log: hi")
    assert codes(found) == [("unused-action", 6), ("unknown-root", 6)]


@pytest.mark.parametrize(
    ("shared", "use", "code"),
    [
        (TELL, "{use: tel, with: {text: hi}}", "unknown-shared-action"),
        (TELL, "{use: tell, with: {text: hi}, log: hi}", "action-kind"),
        ("actions: {say: {}}\n", "{use: say}", "action-kind"),
        ("actions: {say: {log: a, shell: {argv: [x]}}}\n", "{use: say}", "action-kind"),
        ("actions: {say: {use: say}}\n", "{use: say}", "not-shared"),
        ("actions: {Say: {log: a}}\n", "{id: x, use: Say}", "bad-name"),
        ("actions: {say: {log: [a]}}\n", "{use: say}", "wrong-type"),
        ("actions: {say: nothing}\n", "{use: say}", "wrong-type"),
        ("", "{with: {a: 1}, log: hi}", "with-without-use"),
    ],
)
def test_what_is_refused(shared: str, use: str, code: str) -> None:
    found = loaded(shared, use)
    assert code in [d.code for d in found.diagnostics]
    assert found.ruleset is None


def test_an_unused_one_that_is_misspelt_does_not_hide_the_use() -> None:
    found = loaded(TELL, "{use: tel, with: {text: hi}}")
    assert found.diagnostics[-1].hint == "did you mean 'tell'?"


def test_types_are_checked_with_the_rule_s_own_events_too() -> None:
    shared = "actions: {say: {log: '{{ payload.nmae }} {{ with.a }}'}}\n"
    found = loaded(shared, "{use: say, with: {a: 1}}")
    assert codes(found) == [("misspelt-field", 6)]
    hint = found.diagnostics[0].hint
    assert hint is not None
    assert hint.endswith("; used by the rule 'r' in line 8")
