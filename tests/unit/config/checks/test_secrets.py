"""Secrets that somebody wrote into a file are said, wherever they stand, and never shown."""

import pytest

from router.config import load, render_json, render_text
from tests.unit.config.checks import HEAD, codes

VALUE = "a8f3e2b1c9d04e5f6a7b"


def rule(action: str) -> str:
    return f"rules: [{{id: a, from: shop, events: orders/paid, actions: {action}}}]\n"


def http(part: str) -> str:
    return rule(f"{{http: {{url: https://erp.example.net/, {part}}}}}")


FORMATS = [
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 20,
    "glpat-" + "a1" * 10,
    "sk_live_" + "a1" * 12,
    "rk_test_" + "a1" * 12,
    "whsec_" + "a1" * 16,
    "xoxb-" + "12345-" * 4,
    "AKIA" + "A1" * 8,
    "SG." + "a1" * 11 + "." + "a1" * 20,
    "shpat_" + "a1" * 16,
    "AIza" + "a1" * 17 + "a",
    "sk-" + "a1" * 20,
    "eyJ" + "a1" * 8 + ".eyJ" + "a1" * 8 + "." + "a1" * 8,
]


def shown(text: str) -> str:
    """All that anybody could read of what is said."""
    found = load(text, path="rules.yaml", env={}, thorough=True).diagnostics
    return render_text(found) + render_json(found)


@pytest.mark.parametrize(
    "text",
    [
        http(f"headers: {{Authorization: Bearer {VALUE}}}"),
        http(f'headers: {{"X-Api-Key": "{VALUE}"}}'),
        http(f"query: {{access_token: '{VALUE}'}}"),
        http(f"json: {{password: {VALUE}}}"),
        rule(f'{{http: "https://erp.example.net/?token={VALUE}&a=b"}}'),
        rule(f'{{shell: {{argv: [curl, -H, "Authorization: Bearer {VALUE}"]}}}}'),
        rule(f"{{shell: {{argv: [run], env: {{ERP_TOKEN: {VALUE}}}}}}}"),
        http("headers: {Authorization: Bearer abc123def}"),
        http("headers: {Authorization: Basic YWRtaW46aHVudGVyMg==}"),
        http("headers: {X-Auth-Token: 1234567890abcdef}"),
        rule("{log: a}") + f"# the api_key={VALUE}\n",
    ],
)
def test_a_value_under_a_telling_name(text: str) -> None:
    assert codes(text) == ["secret-in-file"]
    for value in (VALUE, "abc123def", "YWRtaW46aHVudGVyMg==", "1234567890abcdef"):
        assert value not in shown(HEAD + text)


@pytest.mark.parametrize("value", FORMATS)
def test_a_key_that_is_known_by_its_form(value: str) -> None:
    text = http(f'headers: {{X-A: "{value}"}}')
    assert codes(text) == ["secret-in-file"]
    assert value not in shown(HEAD + text)
    assert value not in shown(HEAD + text.replace("headers", "haeders"))


@pytest.mark.parametrize(
    "text",
    [
        http('headers: {Authorization: "Bearer {{ payload.token }}"}'),
        http("json: {token: order-2024-11-of-the-shop}"),
        http("json: {secret: this_is_no_secret_but_long}"),
        http(f"json: {{id: {VALUE}, key: {VALUE}, sha: {VALUE}}}"),
        rule(f'{{http: "https://erp.example.net/{VALUE}?page=2"}}'),
        rule("{log: a}") + f"tests: [{{name: a, send: {{endpoint: shop, event: orders/paid, "
        f"set: {{token: {VALUE}}}}}, expect: {{matched: [a]}}}}]\n",
    ],
)
def test_other_values_are_left_alone(text: str) -> None:
    assert "secret-in-file" not in codes(text)


@pytest.mark.parametrize("value", [VALUE, "hush hush", "correct-horse"])
def test_a_value_in_place_of_where_it_comes_from_is_not_shown(value: str) -> None:
    head = HEAD.replace("SHOP_SECRET}}", f"SHOP_SECRET}}, erp: {value}}}")
    assert codes("", head) == ["wrong-type"]
    assert value not in shown(head)
    block = f"version: 1\nsecrets:\n  erp: {value}\n"
    assert value not in shown(block)


@pytest.mark.parametrize("value", [VALUE, "hunter2!", "correct horse"])
def test_a_value_in_place_of_a_name_is_not_shown(value: str) -> None:
    auth = f'{{basic: {{user: admin, password: "{value}"}}}}'
    targets = f"targets: {{erp: {{url: https://erp.example.net, auth: {auth}}}}}\n"
    assert codes(targets) == ["unknown-secret"]
    assert value not in shown(HEAD + targets)


def test_what_can_be_a_misspelt_name_is_shown_with_the_right_one() -> None:
    targets = "targets: {erp: {url: https://erp.example.net, auth: {bearer: shpo}}}\n"
    assert "no secret is called 'shpo'" in shown(HEAD + targets)
