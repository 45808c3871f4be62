"""Null where null ends a job: said where the shape says that it may come."""

import pytest

from router.config import load

HEAD = """version: 1
define: {reason: payload.cancel_reason}
endpoints:
  shop: {paths: /shop, provider: shopify, verify: none}
"""
RULE = "rules:\n  - id: a\n    from: shop\n    events: orders/cancelled\n"
FIELD = "{{ payload.cancel_reason }}"


def codes(text: str, head: str = HEAD) -> list[str]:
    ignored = {"unused-define"}
    found = load(head + text, path="rules.yaml", env={}, thorough=True).diagnostics
    return [d.code for d in found if d.code not in ignored]


def action(text: str, match: str = "") -> list[str]:
    match = f"    match: {match}\n" if match else ""
    return codes(f"{RULE}{match}    actions: {text}\n")


def http(keys: str) -> str:
    return f'{{http: {{url: "https://erp.example.net/", {keys}}}}}'


@pytest.mark.parametrize(
    "text",
    [
        f"{{shell: {{argv: [tell, --, '{FIELD}']}}}}",
        f"{{shell: {{script: ./tell, env: {{REASON: '{FIELD}'}}}}}}",
        http(f"headers: {{X-Reason: '{FIELD}'}}"),
        http(f"query: {{reason: '{FIELD}'}}"),
        http(f"form: {{reason: '{FIELD}'}}"),
        http(f"text: 'because {FIELD}'"),
        http(f"json: {{text: 'because {FIELD}'}}"),
        f"{{http: 'https://erp.example.net/{FIELD}'}}",
        http("headers: {X-Reason: '{{ lower(payload.cancel_reason) }}'}"),
        http("headers: {X-Reason: '{{ def.reason }}'}"),
    ],
)
def test_a_template_that_must_not_be_null(text: str) -> None:
    assert action(text) == ["nullable-template"]


def test_a_group() -> None:
    group = "    concurrency: {group: payload.cancel_reason}\n    actions: {log: x}\n"
    assert codes(RULE + group) == ["nullable-template"]


KEYED = """version: 1
secrets: {desk: {env: DESK}}
providers:
  desk:
    verify: {scheme: token, header: X-Token}
    event: {header: X-Event}
    shapes: {payloads: [{for: "*", fields: {id: integer, other: integer or null}}]}
endpoints:
  desk: {paths: /desk, provider: desk, secrets: desk, dedupe: {key: payload.KEY}}
rules:
  - {id: a, from: desk, actions: {log: x}}
"""


def test_a_key_by_which_copies_are_known() -> None:
    assert codes("", KEYED.replace("KEY", "other")) == ["nullable-template"]
    assert codes("", KEYED.replace("KEY", "id")) == []


@pytest.mark.parametrize(
    "text",
    [
        f"{{log: '{FIELD}'}}",
        http(f"json: {{reason: '{FIELD}'}}"),
        http("headers: {X-Reason: \"{{ default(payload.cancel_reason, 'none') }}\"}"),
        http("headers: {X-Reason: \"{{ not_null(payload.cancel_reason, '') }}\"}"),
        http("headers: {X-Reason: \"{{ payload.cancel_reason || 'none' }}\"}"),
        http(
            "headers: {X-Reason: "
            "\"{{ if(payload.cancel_reason, payload.cancel_reason, 'none') }}\"}"
        ),
        http("headers: {X-Id: '{{ payload.id }}'}"),
    ],
)
def test_where_null_does_no_harm_or_never_comes(text: str) -> None:
    assert action(text) == []


@pytest.mark.parametrize(
    "match",
    [
        "payload.cancel_reason != null",
        "payload.cancel_reason",
        "payload.cancel_reason == 'fraud'",
        "\"contains(['fraud', 'other'], payload.cancel_reason)\"",
        "lower(payload.cancel_reason) == 'fraud'",
        "type(payload.cancel_reason) == 'string'",
        "def.reason != null",
        "{not: payload.cancel_reason == null}",
    ],
)
def test_what_the_rule_asks_for_is_there(match: str) -> None:
    header = http(f"headers: {{X-Reason: '{FIELD}', X-Same: '{{{{ def.reason }}}}'}}")
    assert action(header, match) == []


def test_what_an_action_waits_for_is_there_in_that_action() -> None:
    call = f"http: {{url: https://erp.example.net/, headers: {{X-Reason: '{FIELD}'}}}}"
    one = f"{{id: one, {call}}}"
    two = f"{{id: two, when: payload.cancel_reason != null, {call}}}"
    assert action(f"[{two}]") == []
    assert action(f"[{one}, {two}]") == ["nullable-template"]


def test_what_is_known_holds_beside_results_too() -> None:
    text = f"'{{{{ results.one.status }}}} {FIELD}'"
    one = "{id: one, http: https://erp.example.net/}"
    two = f"{{id: two, after: one, http: {{url: https://a.example.net/, text: {text}}}}}"
    assert action(f"[{one}, {two}]") == ["nullable-template"]
    assert action(f"[{one}, {two}]", "payload.cancel_reason != null") == []


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        ("payload.data.object.metadata.order != null", []),
        ("payload.data.object.metadata.order == 'x'", []),
        ("payload.data.object.metadata.order", []),
        ("payload.data.object.metadata.other != null", ["nullable-template"]),
    ],
)
def test_a_condition_on_a_field_that_users_name_is_known_to_the_actions(
    guard: str, said: list[str]
) -> None:
    text = f"""version: 1
endpoints: {{pay: {{paths: /pay, provider: stripe, verify: none}}}}
rules:
  - id: a
    from: pay
    events: checkout.session.completed
    match: {guard}
    actions:
      http: {{url: "https://erp.example.net/{{{{ payload.data.object.metadata.order }}}}"}}
"""
    found = load(text, path="rules.yaml", env={}, thorough=True).diagnostics
    assert [d.code for d in found] == said


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        ("default(payload.cancel_reason, '') != ''", []),
        ("contains(default(payload.cancel_reason, ''), 'x')", []),
        ("contains(lower(default(payload.cancel_reason, '')), 'x')", []),
        ("starts_with(not_null(payload.cancel_reason, ''), 'x')", []),
        ("ends_with(payload.cancel_reason || '', 'x')", []),
        ("contains(default(payload.cancel_reason, ''), '')", ["nullable-template"]),
        ("default(payload.cancel_reason, 'x') == 'x'", ["nullable-template"]),
        ("lower(payload.cancel_reason) != 'x'", ["nullable-template"]),
    ],
)
def test_where_a_fallback_is_ruled_out_the_field_is_there(guard: str, said: list[str]) -> None:
    found = action(http(f"headers: {{X-Reason: '{FIELD}'}}"), match=f'"{guard}"')
    assert found == said
