"""`router test --update`: snapshots of what is sent, shown as a difference and then written."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Router

RULES = """\
version: 1
secrets: {shop: {env: SHOP}, erp: {env: E}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
rules:
  - id: paid
    from: shop
    events: orders/paid
    actions:
      - id: erp
        http:
          url: "https://erp.example.net/{{ payload.id }}"
          auth: {bearer: erp}
          headers: {x-id: "{{ delivery.id }}", x-again: "{{ delivery.id }}"}
          json: {total: "{{ decimal(payload.total_price) }}"}
      - {id: run, shell: {argv: [run, "--", "{{ payload.name }}"]}}
tests:
  - name: an order
    send: {endpoint: shop, event: orders/paid, set: {total_price: 1.50, name: N, id: 7}}
    replies: {paid/erp: [503, 201]}
    expect: {matched: paid, snapshot: true}
  - name: another
    send: {endpoint: shop, event: orders/paid, set: {total_price: 2, name: M, id: 8}}
    expect: {matched: paid, snapshot: true}
  - {name: without, send: {endpoint: shop, event: orders/paid}, expect: {matched: paid}}
"""
SENT = {
    "paid/erp": [
        {
            "method": "POST",
            "url": "https://erp.example.net/7",
            "headers": {
                "content-type": "application/json",
                "x-id": "dlv_1",
                "x-again": "dlv_1",
                "authorization": "Bearer secret-erp",
            },
            "json": {"total": 1.5},
        }
    ],
    "paid/run": [{"argv": ["run", "--", "N"], "stdin": "(the body as it came)"}],
}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def test_what_is_sent_is_written_down_and_held_to(router: Router, rules: Path) -> None:
    kept = rules.with_name("rules.snapshots.json")
    ran = router("test", rules)
    assert ran.code == 1
    assert "    snapshot: there is none yet; `router test --update` writes it\n" in ran.out
    ran = router("test", rules, "--update")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{kept}: an order\n    + {{\n")
    assert json.loads(kept.read_text())["an order"] == SENT
    assert '"total": 1.50' in kept.read_text()
    written = kept.read_text()
    assert router("test", rules) == (0, router("test", rules, "--update").out, "")
    assert kept.read_text() == written


def test_a_difference_fails_and_is_shown(router: Router, rules: Path) -> None:
    router("test", rules, "--update")
    rules.write_text(RULES.replace("json: {total:", "json: {sum:"))
    ran = router("test", rules, "--run", "an order")
    assert ran.code == 1
    assert ran.out.splitlines()[1:] == [
        "    snapshot: what is sent has changed; `router test --update` accepts it",
        "              },",
        '              "json": {',
        '      -         "total": 1.50',
        '      +         "sum": 1.50',
        "              }",
        "            }",
        "0 passed, 1 failed",
    ]
    assert router("test", rules, "--run", "an order", "--update").code == 0
    assert router("test", rules).out.count("FAIL") == 1  # the other one was not chosen


def test_a_test_that_fails_otherwise_keeps_its_snapshot(router: Router, rules: Path) -> None:
    router("test", rules, "--update")
    kept = rules.with_name("rules.snapshots.json")
    written = kept.read_text()
    lied = RULES.replace("[503, 201]", "[503, 503, 201]").replace("json: {total:", "json: {sum:")
    rules.write_text(lied.replace("matched: paid, snap", "matched: [], snap", 1))
    assert router("test", rules, "--update", "--run", "an order").code == 1
    assert kept.read_text() == written


def test_a_snapshot_of_no_test_is_said_and_dropped(router: Router, rules: Path) -> None:
    router("test", rules, "--update")
    rules.write_text(RULES.replace("name: another", "name: renamed"))
    ran = router("test", rules)
    assert ran.code == 1
    assert "has a snapshot of no test; `router test --update` drops what is unused" in ran.err
    router("test", rules, "--update")
    kept = json.loads(rules.with_name("rules.snapshots.json").read_text())
    assert list(kept) == ["an order", "renamed"]
