"""Chains and groups in a trial: the same rules as in the store, seen through `expect`."""

import random

import pytest

from router.config import load, render_text
from router.rehearsal import TrialRunner

HEAD = """\
version: 1
endpoints:
  shop: {id: shop-0123456789abcdef, provider: shopify, verify: none}
  again: {id: again-0123456789abcdef, provider: shopify, verify: none, on_redelivery: revive}
rules:
  - id: one
    from: [shop, again]
    %s
    actions:
      - {id: a, shell: {argv: [a]}, retry: {schedule: [1m, 1m]}}
      - {id: b, after: a, log: "{{ results.a.exit }}"}
      - {id: c, after: {a: dead}, log: c}
tests:
  - name: t
"""
TWICE = "send: {endpoint: shop, event: orders/paid, repeat: 2}"


def failures(concurrency: str, *lines: str) -> tuple[str, ...]:
    text = HEAD % concurrency + "".join(f"    {line}\n" for line in lines)
    loaded = load(text, path="rules.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(1).randbytes)
    return runner.run(loaded.trials[0]).failures


@pytest.mark.parametrize(
    ("replies", "calls", "cancelled"),
    [
        ("[0]", "{one/a: {times: 1}, one/b: {message: '0'}}", "[one/c]"),
        ("[1, 0]", "{one/a: {times: 2}, one/b: {times: 1}}", "[one/c]"),
        ("[1]", "{one/a: {times: 3}, one/c: {times: 1}}", "[one/b]"),
    ],
)
def test_a_chain_takes_one_of_its_branches(replies: str, calls: str, cancelled: str) -> None:
    assert not failures(
        "about: none",
        "send: {endpoint: shop, event: orders/paid}",
        f"replies: {{one/a: {replies}}}",
        f"expect: {{calls: {calls}, cancelled: {cancelled}}}",
    )


@pytest.mark.parametrize(
    ("busy", "calls"),
    [
        ("queue", "{one/a: {times: 3}, one/b: {times: 2}}"),
        ("latest", "{one/a: {times: 2}, one/b: {times: 1}}"),
        ("drop", "{one/a: {times: 2}, one/b: {times: 1}}"),
    ],
)
def test_a_second_run_while_one_is_between_its_retries(busy: str, calls: str) -> None:
    assert not failures(
        f"concurrency: {{group: endpoint, on_busy: {busy}}}",
        TWICE,
        "replies: {one/a: [1, 0]}",
        f"expect: {{calls: {calls}}}",
    )


def test_a_dead_job_halts_its_group() -> None:
    assert not failures(
        "concurrency: {group: endpoint, on_dead: halt}",
        TWICE,
        "replies: {one/a: 78}",
        "expect: {calls: {one/a: {times: 1}, one/c: {times: 1}}, dead: [one/a]}",
    )


def test_a_redelivery_that_revives_lets_the_rest_wait_again() -> None:
    assert not failures(
        "concurrency: {group: endpoint}",
        "send: {endpoint: again, event: orders/paid, redeliver: true}",
        "replies: {one/a: [78, 0]}",
        "expect: {calls: {one/a: {times: 2}, one/b: {times: 1}, one/c: {times: 1}}}",
    )
