"""In a trial a dead job leads to our own event, as it does in the running router."""

import random

from router.config import load, render_text
from router.rehearsal import TrialRunner

RULES = """
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
rules:
  - {id: paid, from: shop, events: orders/paid, retry: short, actions: {http: "https://a.example/x"}}
  - id: call
    from: router
    events: job.dead
    actions:
      http:
        url: https://b.example/y
        json: {rule: "{{ payload.rule }}", tries: "{{ payload.attempts }}"}
tests:
  - name: after the last try somebody is called
    send: {endpoint: shop, event: orders/paid}
    replies: {paid/http: 503}
    expect:
      matched: [paid, call]
      calls: {paid/http: {times: 3}, call/http: {times: 1, json: {rule: paid, tries: 3}}}
  - name: a call that fails calls nobody
    send: {endpoint: shop, event: orders/paid}
    replies: {paid/http: 410, call/http: 410}
    expect: {calls: {call/http: {times: 1}}}
  - name: a success calls nobody
    send: {endpoint: shop, event: orders/paid}
    expect: {matched: [paid], calls: {call/http: {times: 0}}}
  - name: one sent by hand
    send: {endpoint: router, event: job.dead, set: {rule: other}}
    expect: {status: 200, matched: [call], calls: {call/http: {json: {rule: other, tries: 11}}}}
"""


def test_dead_letters_call_once_and_calls_call_nobody() -> None:
    loaded = load(RULES, path="rules.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(1).randbytes)
    for trial in loaded.trials:
        assert runner.run(trial).failures == (), trial.name
