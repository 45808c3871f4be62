"""Calls and their secrets; attempts, and what comes of them."""

import pytest

from tests.unit.config.checks import HEAD, codes, findings

TWO = HEAD.replace("SHOP_SECRET}}", "SHOP_SECRET}, erp: {env: ERP_TOKEN}}")


def http(call: str, head: str = HEAD) -> list[str]:
    return codes(f"rules: [{{id: a, from: shop, events: orders/paid, actions: {call}}}]\n", head)


def test_a_get_has_no_body_but_the_event_that_it_has_always() -> None:
    url = "url: https://erp.example.net/"
    for body in ("json: {}", 'text: ""', "form: {a: b}", "body: x"):
        assert http(f"{{http: {{{url}, method: GET, {body}}}}}") == ["body-with-get"], body
        assert http(f"{{http: {{{url}, method: DELETE, {body}}}}}") == [], body
    assert http(f"{{http: {{{url}, method: HEAD}}}}") == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://erp.example.net/x", True),
        ("HTTP://erp.example.net:8080", True),
        ("http://10.0.0.5/", True),
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
    assert http(f'{{http: "{url}"}}') == []


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


def when(after: str, condition: str, accept: str = "[2xx]") -> list[str]:
    call = f"{{id: x, http: {{url: https://erp.example.net/, accept: {accept}}}}}"
    step = f'{{after: {after}, when: "{condition}", log: y}}'
    found = findings(f"rules: [{{id: a, from: shop, actions: [{call}, {step}]}}]\n")
    return [code for code, _, _ in found if code == "result-never-seen"]


@pytest.mark.parametrize("operator", ["==", "<", "<=", ">", ">=", "!="])
@pytest.mark.parametrize("number", [99, 100, 199, 200, 299, 300, 409, 599, 600])
@pytest.mark.parametrize("accept", ["[2xx]", "[2xx, 409]", "[204]"])
def test_what_is_never_seen_is_seen_for_no_status(operator: str, number: int, accept: str) -> None:
    """Brute force over every status there is."""
    accepted = {"[2xx]": range(200, 300), "[2xx, 409]": [*range(200, 300), 409], "[204]": [204]}
    holds = [s for s in range(100, 600) if eval(f"{s} {operator} {number}")]  # noqa: S307 - our own
    after_success = [s for s in holds if s in accepted[accept]]
    after_death = [s for s in holds if s not in accepted[accept]]
    condition = f"results.x.status {operator} {number}"
    said = ["result-never-seen"]
    assert when("x", condition, accept) == ([] if after_success else said)
    assert when("{x: dead}", condition, accept) == ([] if after_death else said)
    assert when("{x: ended}", condition, accept) == []


def test_a_number_may_stand_first_and_a_command_succeeds_with_0() -> None:
    assert when("x", "500 == results.x.status") == ["result-never-seen"]
    assert when("x", "300 > results.x.status") == []
    command = "{id: x, shell: {argv: [run]}}"
    step = '{after: x, when: "results.x.exit == 1", log: y}'
    rules = f"rules: [{{id: a, from: shop, actions: [{command}, {step}]}}]\n"
    assert codes(rules) == ["result-never-seen"]


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
