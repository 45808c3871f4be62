"""Templates made from samples: what a sample can prove, and what it cannot."""

import pytest

from router.config import load

HEAD = """\
version: 1
secrets: {erp: {env: ERP_TOKEN}}
define:
  reason: payload.cancel_reason
  total: decimal(payload.name)
  buyer: payload.customer
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}
  code: {id: 9c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: github, verify: none}
rules:
"""
QUIET = {"unused-secret", "unused-define", "unused-endpoint", "unknown-field"}


def said(rules: str) -> list[tuple[int, int, str]]:
    found = load(HEAD + rules, path="rules.yaml", env={}, thorough=True).diagnostics
    reported = [d for d in found if d.code not in QUIET]
    assert {d.code for d in reported} <= {"template-fails-on-sample"}
    return [(d.line, d.column, d.message) for d in reported]


def header(template: str, *, more: str = "", source: str = "shop", events: str = "") -> str:
    events = f"    events: {events}\n" if events else ""
    return (
        f"  - id: a\n    from: {source}\n{events}{more}    actions:\n      http:\n"
        f'        url: https://erp.example.net/\n        headers: {{X-A: "{template}"}}\n'
    )


def order(template: str, more: str = "") -> list[tuple[int, int, str]]:
    return said(header(template, more=more, events="orders/paid"))


def test_a_field_that_is_an_object_points_at_the_expression() -> None:
    assert order("a {{ payload.name }} {{ payload.customer }}") == [
        (17, 49, "on the sample of orders/paid: {{ payload.customer }} is an object")
    ]


@pytest.mark.parametrize("template", ["{{ payload.line_items }}", "{{ payload.customer }}"])
def test_a_list_or_an_object_in_a_text(template: str) -> None:
    assert order(template)[0][2].endswith(("}} is an array", "}} is an object"))


def test_a_function_that_refuses_its_argument() -> None:
    assert "decimal" in order("{{ decimal(payload.name) }}")[0][2]


def test_definitions_are_followed() -> None:
    assert "def.buyer }} is an object" in order("{{ def.buyer }}")[0][2]


@pytest.mark.parametrize(
    "template",
    [
        "{{ payload.name }}",
        "{{ payload.not_in_the_sample }}",
        "{{ lower(payload.not_in_the_sample) }}",
        '{{ headers.\\"x-something\\" }}',
        "{{ query.page }}",
        "{{ secret.erp }}",
        "{{ shop }} {{ topic }} {{ api_version }} {{ event }}",
        "{{ delivery.id }} {{ delivery.received_at }} {{ endpoint }} {{ provider }}",
        "{{ default(payload.cancel_reason, 'none') }}",
        "{{ if(payload.cancel_reason, payload.cancel_reason, 'none') }}",
    ],
)
def test_what_is_right_or_not_known_is_silent(template: str) -> None:
    assert order(template) == []


def test_what_the_conditions_keep_away_is_not_judged() -> None:
    assert order("{{ payload.cancel_reason }}", "    match: payload.cancel_reason\n") == []
    assert order("{{ payload.cancel_reason }}", "    match: def.reason != null\n") == []
    assert order("{{ def.reason }}", "    match: {not: payload.cancel_reason == null}\n") == []


def test_conditions_about_something_else_keep_nothing_away() -> None:
    match = "    match: decimal(payload.total_price) > 1000000\n"
    assert len(order("{{ payload.customer }}", match)) == 1


def test_other_events_are_counted() -> None:
    found = said(header("{{ payload.customer }}", events="[orders/paid, orders/create]"))
    assert "on the sample of orders/create, and of 1 more: " in found[0][2]


def test_a_rule_for_every_event_reports_only_what_is_there_and_wrong() -> None:
    assert said(header("{{ payload.ref }}", source="code")) == []


def test_json_keeps_null_and_a_log_prints_it() -> None:
    rules = (
        "  - id: a\n    from: shop\n    events: orders/paid\n    actions:\n"
        "      - http: {url: https://erp.example.net/, json: {a: '{{ payload.cancel_reason }}'}}\n"
        "      - log: '{{ payload.cancel_reason }} {{ payload.customer }}'\n"
    )
    assert said(rules) == []


def test_a_path_segment_that_comes_out_empty() -> None:
    rules = (
        "  - id: a\n    from: shop\n    events: orders/paid\n    actions:\n"
        "      http: https://erp.example.net/{{ trim('  ') }}/{{ payload.id }}\n"
    )
    assert said(rules)[0][:2] == (15, 13)
    assert "path segment" in said(rules)[0][2]


def test_the_same_template_twice_is_reported_at_each_rule() -> None:
    rules = header("{{ payload.customer }}", events="orders/paid")
    found = said(rules + rules.replace("id: a", "id: b"))
    assert [line for line, _, _ in found] == [17, 24]


def test_a_template_that_one_rule_guards_is_reported_at_another() -> None:
    rules = header("{{ payload.customer }}", events="orders/paid")
    guarded = rules.replace("    actions:", "    match: payload.customer == null\n    actions:")
    found = said(guarded + rules.replace("id: a", "id: b"))
    assert [line for line, _, _ in found] == [25]
