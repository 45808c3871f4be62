"""`diff`: files and generations beside each other, over what a store has."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from router.clock import SystemClock
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from router.wiring.live import generation_of
from router.wiring.rules import read_rules
from tests.builders import a_delivery, an_event
from tests.unit.cli.conftest import SMALL, Router

TARGETS = "targets: {erp: {url: https://erp.test, auth: {bearer: hub}}}\nrules:\n"
MORE = """\
  - id: big
    from: shop
    match: decimal(payload.total_price) > 500
    actions: {log: "{{ payload.id }}"}
  - id: erp
    from: shop
    events: orders/paid
    actions:
      http:
        target: erp
        path: /orders
        json: {id: "{{ payload.id }}", items: "{{ payload.line_items }}"}
        headers: {x-key: "{{ secret.hub }}"}
"""
OLD = SMALL.replace("rules:\n", TARGETS) + MORE
NEW = OLD.replace("> 500", "> 300").replace("path: /orders", "path: /orders/{{ payload.id }}")
PRICES = "decimal(payload.total_price) > {}"
PAID = (("content-type", "application/json"), ("x-shopify-topic", "orders/paid"))


async def fill(store: Path, rules: Path) -> str:
    ruleset = read_rules(rules, environ={}).ruleset
    assert ruleset is not None
    ledger = await open_store(str(store), clock=SystemClock())
    await ledger.keep_generation(generation_of(ruleset, SystemClock()))
    for n, price in enumerate(("600.00", "400.00", "100.00")):
        body = b'{"id": %d, "total_price": "%s"}' % (n + 1, price.encode())
        delivery = a_delivery(
            id=f"dlv_01{n}BCDEFGH0123456789ABCDEF",
            provider="commerce",
            headers=PAID,
            body=body,
            generation=ruleset.generation,
        )
        await accept(ledger, delivery)
    torn = a_delivery(
        id="dlv_019BCDEFGH0123456789ABCDEF",
        provider="commerce",
        headers=PAID,
        body=b"{",
        state="unparsed",
        generation=ruleset.generation,
    )
    await accept(ledger, torn)
    await ledger.close()
    return ruleset.generation


async def accept(ledger: Any, delivery: Any) -> None:
    event = an_event(id="evt_" + delivery.id[4:])
    await ledger.accept(Acceptance(delivery, (event,), ()))


@pytest.fixture
def generation(rules: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store has three orders, by the generation of OLD; the file is NEW; no secret is set."""
    rules.write_text(OLD, "utf-8")
    (rules.parent / "old.yaml").write_text(OLD, "utf-8")
    id_ = asyncio.run(fill(rules.parent / "router.db", rules))
    rules.write_text(NEW, "utf-8")
    monkeypatch.chdir(rules.parent)
    for name in ("SHOP_SECRET", "HUB_SECRET"):
        monkeypatch.delenv(name)
    return id_


@pytest.mark.long
def test_what_rules_say_and_what_that_does(router: Router, generation: str) -> None:
    ran = router("diff", generation[:12], "rules.yaml")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines() == [
        f"old  generation {generation[:16]}",
        "new  rules.yaml",
        "",
        "rules",
        "  ~ big  changed",
        f'      ~ match[0]: "{PRICES.format(500)}" → "{PRICES.format(300)}"',
        "  ~ erp  changed",
        '      ~ actions.http.path: "/orders" → "/orders/{{ payload.id }}"',
        "",
        "3 deliveries (3 events) compared, 1 that no rule sees: 3 would differ",
        "",
        "big",
        "  newly matches: 1 event",
        "    dlv_011BCDEFGH0123456789ABCDEF  orders/paid  2026-09-21T14:13:20Z",
        "",
        "erp",
        "  sends something else: 3 events",
        "    dlv_012BCDEFGH0123456789ABCDEF  orders/paid  2026-09-21T14:13:20Z",
        '      ~ http: url: "https://erp.test/orders" → "https://erp.test/orders/3"',
        "    dlv_011BCDEFGH0123456789ABCDEF  orders/paid  2026-09-21T14:13:20Z",
        '      ~ http: url: "https://erp.test/orders" → "https://erp.test/orders/2"',
        "    dlv_010BCDEFGH0123456789ABCDEF  orders/paid  2026-09-21T14:13:20Z",
        '      ~ http: url: "https://erp.test/orders" → "https://erp.test/orders/1"',
    ]


def test_the_other_way_round_it_stops(router: Router, generation: str) -> None:
    reported = json.loads(router("diff", "rules.yaml", "stored", "--json").out)
    assert reported["new"] == f"generation {generation[:16]}"
    assert {(e["rule"], e["kind"]) for e in reported["effects"]} == {
        ("erp", "sends something else"),
        ("big", "stops matching"),
    }
    assert reported["skipped"] == [
        {"delivery": "dlv_019BCDEFGH0123456789ABCDEF", "state": "unparsed"}
    ]


def test_nothing_differs(router: Router, generation: str) -> None:
    """Nor do a folder, or the name of a file."""
    ran = router("diff", generation, "old.yaml")
    assert ran.code == 0
    assert "no difference; 3 deliveries (3 events) compared" in ran.out


@pytest.mark.long
def test_fewer_deliveries(router: Router, generation: str) -> None:
    for option in ("--last", "--limit"):
        reported = json.loads(router("diff", "old.yaml", "rules.yaml", option, "2", "--json").out)
        assert reported["deliveries"] == 1  # one of the two was not parsed
    reported = json.loads(router("diff", "old.yaml", "rules.yaml", "--event", "push", "--json").out)
    assert (reported["deliveries"], reported["effects"], reported["differs"]) == (0, [], True)


@pytest.mark.long
def test_deliveries_by_a_condition(router: Router, generation: str) -> None:
    def compared(*more: str) -> int:
        ran = router("diff", "old.yaml", "rules.yaml", "--json", *more)
        return int(json.loads(ran.out)["deliveries"])

    assert compared("--where", "payload.id == 2") == 1
    assert compared("--where", "payload.id == var.id", "--var", "id:=3") == 1


def test_a_name_that_nothing_has_selects_no_deliveries(router: Router, generation: str) -> None:
    ran = router("diff", "old.yaml", "rules.yaml", "--endpoint", "shopp")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'shop'" in ran.err


def test_without_a_store_the_rules_are_compared(router: Router, tmp_path: Path) -> None:
    for name, text in (("a", OLD), ("b", NEW)):
        (tmp_path / f"{name}.yaml").write_text(text, "utf-8")
    ran = router("diff", tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert ran.code == 1
    assert "~ big  changed" in ran.out
    assert "there is no store" in ran.err


def test_what_cannot_be_compared_is_2(router: Router, generation: str) -> None:
    Path("bad.yaml").write_text(OLD + "oops: 1\n", "utf-8")
    wrong = router("diff", "bad.yaml", "rules.yaml")
    assert (wrong.code, wrong.out) == (2, "")
    assert "oops" in wrong.err
    for name in ("gone.yaml", "ffffffff"):
        ran = router("diff", name, "rules.yaml")
        assert ran.code == 2, ran
        assert name in ran.err
