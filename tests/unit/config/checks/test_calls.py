"""Calls and their secrets; the delays of attempts."""

import pytest

from tests.unit.config.checks import HEAD, codes

TWO = HEAD.replace("SHOP_SECRET}}", "SHOP_SECRET}, erp: {env: ERP_TOKEN}}")
TWO += "server: {egress: {allow: [10.0.0.0/8]}}\n"


def http(call: str, head: str = HEAD) -> list[str]:
    return codes(f"rules: [{{id: a, from: shop, events: orders/paid, actions: {call}}}]\n", head)


def test_a_get_has_no_body_but_the_event_that_it_has_always() -> None:
    url = "url: https://erp.example.net/"
    for body in ("json: {}", 'text: ""', "form: {a: b}", "body: x"):
        assert http(f"{{http: {{{url}, method: GET, {body}}}}}") == ["body-with-get"], body
        assert http(f"{{http: {{{url}, method: DELETE, {body}}}}}") == [], body
    assert http(f"{{http: {{{url}, method: HEAD}}}}") == []


def test_a_text_between_quotes_of_json_may_hold_one() -> None:
    def said(body: str, kind: str = "body") -> list[str]:
        return http(f"{{http: {{url: https://erp.example.net/, {kind}: '{body}'}}}}")

    for body in (
        '{"a": "{{ payload.name }}"}',
        '[{"a": "by {{ payload.name }}!"}]',
        '{"a": "{{ default(payload.note, `""`) }}"}',
        '{"a": "{{ payload.id }}", "b": "{{ payload.name }}"}',
    ):
        assert said(body) == ["text-within-json"], body
        assert said(body, "text") == ["text-within-json"], body
    for body in (
        '{"a": "{{ payload.id }}"}',
        '{"a": "{{ payload.created_at }}"}',
        '{"a": {{ to_string(payload.line_items) }}}',
        '{"a": {{ payload.name }}}',
        '{"a": "{{ sha256(payload.name) }}"}',
        "by {{ payload.name }}",
    ):
        assert said(body) == [], body


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://erp.example.net/x", True),
        ("HTTP://erp.example.net:8080", True),
        ("http://10.0.0.5/", True),
        ("http://[2001:db8::1]/", True),
        ("https://erp.example.net/", False),
        ("http://127.0.0.1:9000/", False),
        ("http://[::1]:9000/", False),
        ("http://app.localhost/", False),
        ("http://erp:8080/", False),
        ("http://erp.svc.cluster.local/", False),
    ],
)
def test_a_secret_goes_by_plain_http_only_where_it_is_near(url: str, said: bool) -> None:
    expected = ["secret-in-clear"] if said else []
    assert http(f'{{http: {{url: "{url}", auth: {{bearer: erp}}}}}}', TWO) == expected
    header = 'headers: {X-Key: "{{ secret.erp }}"}'
    assert http(f'{{http: {{url: "{url}", {header}}}}}', TWO) == expected
    assert http(f'{{http: "{url}"}}', TWO) == ["unused-secret"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:8000/wh_8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54", True),
        ("http://localhost:8000/wh_8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54?again=1", True),
        ("http://127.0.0.1:8000/wh_other", False),
        ("http://127.0.0.1:9000/wh_8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54", False),
    ],
)
def test_the_router_does_not_call_itself(url: str, said: bool) -> None:
    assert http(f'{{http: "{url}"}}') == (["calls-itself"] if said else [])


def test_nor_by_a_target_and_a_path() -> None:
    target = 'targets: {me: {url: "http://127.0.0.1:8000"}}\n'
    path = "/wh_8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54"
    rules = "rules: [{id: a, from: shop, actions: {http: {target: me, path: PATH}}}]\n"
    assert codes(target + rules.replace("PATH", path)) == ["calls-itself"]
    assert codes(target + rules.replace("PATH", path + "/x")) == []


def test_a_signing_secret_is_sent_wherever_a_secret_may_stand() -> None:
    url = "url: https://erp.example.net/"
    for part in (
        "auth: {bearer: shop}",
        "auth: {basic: {user: a, password: shop}}",
        "auth: {header: {X-Key: shop}}",
        'query: {key: "{{ secret.shop }}"}',
        'json: {key: "{{ secret.shop }}"}',
    ):
        assert http(f"{{http: {{{url}, {part}}}}}") == ["signing-secret-sent"], part
    assert http('{shell: {argv: [sign], env: {KEY: "{{ secret.shop }}"}}}') == []
    assert http(f"{{http: {{{url}, sign: {{scheme: standard-webhooks, secrets: shop}}}}}}") == []


def test_a_public_key_is_no_secret() -> None:
    head = HEAD.replace("provider: shopify", "provider: sendgrid").replace("env:", "file:")
    call = "{http: {url: https://erp.example.net/, auth: {bearer: shop}}}"
    rules = f"rules: [{{id: a, from: shop, events: bounce, actions: {call}}}]\n"
    assert codes(rules, head) == []


def test_delays_are_counted_together_wherever_the_schedule_stands() -> None:
    call = "http: https://erp.example.net/"
    assert http(f"{{{call}, retry: {{schedule: [6d, 1d]}}}}") == []
    assert http(f"{{{call}, retry: {{schedule: [6d, 1d, 1s, 1s]}}}}") == ["delay-never-comes"]
    rule = f"rules: [{{id: a, from: shop, retry: {{schedule: 8d}}, actions: {{{call}}}}}]\n"
    assert codes(rule) == ["delay-never-comes"]


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "[::ffff:a9fe:a9fe]"]
)
def test_a_metadata_service_is_never_called(host: str) -> None:
    assert http(f'{{http: "http://{host}/latest"}}') == ["bad-url"]
    assert codes(f'targets: {{erp: {{url: "http://{host}/"}}}}\n') == ["bad-url"]
    assert http('{http: "http://169.254.1.1/latest"}') == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('\'{"id": "{{ payload.id }}"}\'', True),
        ("'[1, 2]'", True),
        ("'{{ payload }}'", False),
        ("'{name}'", False),
        ("{id: 1}", False),
    ],
)
def test_json_is_no_text_that_holds_json(body: str, said: bool) -> None:
    call = f"{{http: {{url: https://erp.example.net/, json: {body}}}}}"
    assert http(call) == (["json-in-text"] if said else [])


def test_a_token_of_the_code_host_goes_by_plain_http_too() -> None:
    head = TWO.replace("provider: shopify", "provider: github")
    dispatch = "repo: acme/shop, event_type: paid, token: erp, api_base: 'http://git.example.net'"
    rules = f"rules: [{{id: a, from: shop, actions: {{repository_dispatch: {{{dispatch}}}}}}}]\n"
    assert codes(rules, head) == ["secret-in-clear"]
    assert codes(rules.replace("http:", "https:"), head) == []
