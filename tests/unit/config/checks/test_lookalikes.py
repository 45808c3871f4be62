"""Texts that look like templates: what is taken for one, and what may be meant as it stands."""

import pytest

from tests.unit.config.checks import codes, findings

HTTP = "rules: [{{id: a, from: shop, events: orders/paid, actions: {{http: {{{0}}}}}}}]\n"
SHELL = "rules: [{{id: a, from: shop, events: orders/paid, actions: {{shell: {{{0}}}}}}}]\n"
URL = 'url: "https://erp.example.net/"'
SAID = ["not-a-template"]


@pytest.mark.parametrize(
    "text",
    [
        "payload.total_price",
        " $.payload.line_items[0].sku ",
        "payload.customer.email",
        "lower(payload.email)",
        "var.low",
        "delivery.id",
        "payload.name || 'x'",
        "payload.total_price == 1",
        "results.erp.status",
        "order {payload.id}",
        "order {payload.id}}",
        "${payload.id}",
        "${{ payload.name }}",
        "#{payload.id} {{ payload.id }}",
        "%{payload.id}",
        "$(payload.id)",
        "[[ payload.id ]]",
        "<%= payload.id %>",
        "$payload.id",
        "%payload.id%",
        "{% if payload.test %}a{% endif %}",
        "{%- for line in payload.line_items %}{% endfor %}",
    ],
)
def test_a_text_that_was_meant_as_a_template(text: str) -> None:
    body = f'{URL}, json: ["{text}", "{{{{ var.low }}}}"]'
    assert codes("vars: {low: 1}\n" + HTTP.format(body)) == SAID


@pytest.mark.parametrize(
    "text",
    [
        "payload",
        "payload.json",
        "delivery.created",
        "headers.date",
        "query.size",
        "results.json",
        "the secret.shop of all",
        "var.unknown",
        "see payload.id of the order",
        "payload.total_price of all",
        "${{ payload.total_price }} and {{ payload.name }}",
        "${{ payload.total_price }}",
        "{ id }",
        "${x} ${DS_PROMETHEUS} $AAPL",
        "50% of {a.b} <b> %s",
        "{{ '{{' }} payload.id }}",
        "{ payload { id } }",
        "payload.id == 1 (see notes)",
    ],
)
def test_a_text_that_may_be_meant(text: str) -> None:
    assert codes(HTTP.format(f'{URL}, json: ["{text}"]')) == []


@pytest.mark.parametrize("text", ["${ERP}", "$TOKEN", "Bearer $ERP_TOKEN"])
def test_variables_are_put_nowhere(text: str) -> None:
    assert codes(HTTP.format(f'{URL}, headers: {{X-A: "{text}"}}')) == SAID
    assert codes(HTTP.format(f'{URL}, query: {{a: "{text}"}}')) == SAID
    assert codes(SHELL.format(f'argv: [echo], env: {{A: "{text}"}}')) == SAID
    assert codes(HTTP.format(f'{URL}, text: "{text}"')) == []


def test_in_arguments_only_what_begins_with_a_variable() -> None:
    assert codes(SHELL.format("argv: [echo, $HOME/log]")) == SAID
    assert codes(SHELL.format('argv: [ssh, host, "echo $HOME"]')) == []


def test_the_place_is_the_sign_and_a_statement_is_said_once() -> None:
    text = "{% if a %}{% endif %}"
    assert findings(HTTP.format(f'{URL}, text: "{text}"')) == [
        ("not-a-template", 5, "'{% if a %}' is sent as it stands: templates have no statements")
    ]


def test_a_path_in_an_address_and_a_secret_in_a_header() -> None:
    call = 'url: "https://erp.example.net/{0}"'
    for path in ("orders/payload.id", "payload.id/lines", "?id=payload.id", "payload.id?a=b"):
        assert codes(HTTP.format(call.format(path))) == SAID, path
    for path in ("payload.json", "payloads/x.payload.id", "a?b=c.payload.id"):
        assert codes(HTTP.format(call.format(path))) == [], path
    for text in ("Bearer secret.shop", "secret.shop"):
        assert codes(HTTP.format(f"{URL}, headers: {{X-A: {text}}}")) == SAID, text
