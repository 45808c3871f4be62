"""Expectations that nothing can meet are warned of, and no other."""

import pytest

from tests.rehearsing import found

RULES = """\
version: 1
secrets: {shop: {env: A}, mail: {env: B}, hub: {env: C}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
  mail: {id: 2b7d4e9a0c1f4b8e8d3a6f5c9e7b1a20, provider: sendgrid, secrets: mail}
  code: {id: 97aa3c5e1d2b4f6089e7c4b3a2d1f0e8, provider: github, secrets: hub}
rules:
  - id: paid
    from: shop
    events: orders/paid
    actions:
      - {id: erp, http: https://erp.example.net/, retry: {schedule: [5s]}}
      - {id: run, shell: {argv: [run]}}
  - {id: dark, mode: shadow, from: shop, actions: {log: x}}
  - {id: held, mode: paused, from: shop, actions: {log: x}}
  - {id: bounced, from: mail, events: bounce, actions: {log: x}}
  - {id: built, from: code, events: workflow_run.completed, actions: {log: x}}
  - {id: pushed, from: code, events: "pu*", actions: {log: x}}
  - {id: died, from: router, actions: {log: x}}
tests:
  - name: t
    send: %s
    expect: {%s}
"""
PAID = "{endpoint: shop, event: orders/paid}"
TWICE = f"[{PAID}, {{again: true}}]"
RUN = "{endpoint: code, event: workflow_run}"


@pytest.mark.parametrize(
    ("send", "expect", "said"),
    [
        (PAID, "matched: [dark]",
         "the rule 'dark' is in shadow (expect it under 'shadow')"),
        (PAID, "shadow: [paid]",
         "the rule 'paid' is not in shadow (expect it under 'matched')"),
        (PAID, "matched: [bounced]",
         "'bounced' cannot match: its 'from' has no endpoint that is sent to"),
        ("{endpoint: shop, event: orders/create}", "matched: [paid]",
         "'paid' cannot match: its 'events' let none in that is sent"),
        (RUN, "matched: [pushed]", "'pushed' cannot match: its 'events' let none in that is sent"),
        ("{endpoint: code, event: push}", "matched: [built]",
         "'built' cannot match: its 'events' let none in that is sent"),
        (PAID, "calls: {dark/log: {}}",
         "'dark/log' is never called: the rule 'dark' has 'mode: shadow'"),
        (PAID, "calls: {held/log: {times: 1}}",
         "'held/log' is never called: the rule 'held' has 'mode: paused'"),
        (PAID, "calls: {bounced/log: {}}",
         "'bounced/log' is never called: its 'from' has no endpoint that is sent to"),
        (PAID, "calls: {paid/erp: {times: 3}}", "3 calls are expected, but at most 2 can come"),
        (PAID, "calls: {paid/run: {times: 4}}", "4 calls are expected, but at most 3 can come"),
    ],
)  # fmt: skip
def test_what_cannot_come_is_warned_of(send: str, expect: str, said: str) -> None:
    assert found(RULES % (send, expect)) == [f"never-met: {said}"]


@pytest.mark.parametrize(
    ("send", "expect"),
    [
        (PAID, "matched: [paid, held, died], shadow: [dark]"),
        (PAID, "calls: {dark/log: {times: 0}, bounced/log: {times: 0}, died/log: {times: 9}}"),
        (PAID, "calls: {paid/erp: {times: 2}, paid/run: {times: 3}}"),
        (TWICE, "calls: {paid/erp: {times: 4}}"),
        ("{endpoint: shop, event: orders/paid, repeat: 3}", "calls: {paid/erp: {times: 6}}"),
        (RUN, "matched: [built]"),
        ("{endpoint: code, event: workflow_run.completed}", "matched: [built]"),
        ("{endpoint: code, event: push}", "matched: [pushed]"),
        ("{endpoint: mail, event: open, set: {event: bounce}}", "matched: [bounced]"),
        ("{endpoint: mail, event: open, payload: {event: bounce}}", "matched: [bounced]"),
        ("{endpoint: shop, event: orders/create, headers: {x-shopify-topic: orders/paid}}",
         "matched: [paid]"),
    ],
)  # fmt: skip
def test_what_may_come_is_not_doubted(send: str, expect: str) -> None:
    assert found(RULES % (send, expect)) == []


def test_replies_to_what_is_never_called() -> None:
    text = (RULES % (PAID, "status: 200")).replace(
        "    expect", "    replies: {bounced/log: {}}\n    expect"
    )
    assert (
        "never-met: 'bounced/log' is never called: its 'from' has no endpoint that is sent to"
        in found(text)
    )
