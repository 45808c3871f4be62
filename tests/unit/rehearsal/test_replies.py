"""What a test's replies say is what the actions after it read in `results`."""

import pytest

from tests.rehearsing import HEAD, found, said

CHAIN = (
    HEAD
    + """\
  - id: paid
    from: shop
    actions:
      - {id: ask, %s}
      - {id: told, after: {ask: ended}, log: "%s"}
tests:
  - name: t
    send: {endpoint: shop, event: orders/paid}
    replies: {paid/ask: %s}
    expect: {calls: {paid/told: {message: "%s"}}}
"""
)
HTTP = "http: https://erp.example.net/"
SHELL = "shell: {argv: [ask]}"


@pytest.mark.parametrize(
    ("action", "template", "reply", "message"),
    [
        (HTTP, "{{ results.ask.json.number }}", "{status: 201, json: {number: 7}}", "7"),
        (HTTP, "{{ results.ask.text }}", "{json: {n: [1.50]}}", r"{\"n\":[1.50]}"),
        (HTTP, "{{ results.ask.json.n }}", "{text: '{\"n\": 7}'}", "7"),
        (HTTP, "{{ results.ask.headers.location }}", "{headers: {Location: /7}}", "/7"),
        (HTTP, "{{ results.ask.headers.'content-type' }}".replace("'", r'\"'), "{json: 1}",
         "application/json"),
        (HTTP, "{{ results.ask.status }} {{ results.ask.json.why }}",
         "{status: 410, json: {why: gone}}", "410 gone"),
        (SHELL, "{{ results.ask.stdout }}", "{stdout: done}", "done"),
        (SHELL, "{{ results.ask.json.n }}", "{stdout: ' {\"n\": 7}'}", "7"),
        (SHELL, "{{ results.ask.json.n }} {{ results.ask.exit }}", "{json: {n: 7}}", "7 0"),
        (SHELL, "{{ results.ask.exit }} {{ results.ask.stdout }}", "{exit: 78, stdout: x}", "78 x"),
    ],
)  # fmt: skip
def test_what_an_answer_holds_is_read(action: str, template: str, reply: str, message: str) -> None:
    assert said(CHAIN % (action, template, reply, message)) == []


@pytest.mark.parametrize(
    ("action", "reply", "complaint"),
    [
        (HTTP, "{json: 1, text: x}", "'json' and 'text' exclude each other"),
        (HTTP, "{error: timeout, json: 1}", "'json' and 'error' exclude each other"),
        (HTTP, "{stdout: x}",
         "'stdout' is no answer to an http action (expected status, headers, json, text or error)"),
        (SHELL, "{stdout: x, json: 1}", "'stdout' and 'json' exclude each other"),
        (SHELL, "{value: 1}",
         "'value' is no answer to a shell action (expected exit, stdout, json, stderr or error)"),
    ],
)  # fmt: skip
def test_what_no_answer_can_hold_is_refused(action: str, reply: str, complaint: str) -> None:
    assert found(CHAIN % (action, "x", reply, "x")) == [f"bad-reply: {complaint}"]
