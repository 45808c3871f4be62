"""docs/privacy.md: what it shows is done, and its figures are those of the code."""

import json
import re
import shlex
from pathlib import Path

import pytest

from router.actions.child import KEEP
from router.config import load, render_text
from router.operator.where import Where
from router.serving.upkeep import AUDIT_MS
from tests.acceptance.process import ROOT
from tests.builders import a_delivery, a_ruleset
from tests.docs.pages import blocks, lines
from tests.rehearsing import prove
from tests.unit.cli.conftest import Router, router, rules
from tests.unit.cli.test_stored import Ledger, ledger

__all__ = ["ledger", "router", "rules"]

PAGE = (ROOT / "docs" / "privacy.md").read_text("utf-8")


@pytest.mark.parametrize(
    "line", [line for line in lines("privacy.md") if line.startswith("router export")]
)
def test_an_export_is_written(
    line: str, router: Router, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert router(*shlex.split(line)[1:]).code == 0
    assert json.loads((tmp_path / "ann.json").read_text("utf-8"))["deliveries"] == []


@pytest.mark.parametrize("text", blocks("privacy.md", "yaml"))
def test_its_rules_are_right(text: str) -> None:
    loaded = load(text, path="rules.yaml", env={})
    assert render_text(loaded.diagnostics) == ""


def test_its_figures_are_those_of_the_code() -> None:
    assert f"{AUDIT_MS // 86_400_000} days" in PAGE
    assert f"{KEEP // 1024} KiB at most" in PAGE


[TOPICS] = [text for text in blocks("privacy.md", "yaml") if "erase-customer" in text]
TRIALS = """
tests:
  - name: a customer
    send:
      endpoint: privacy
      event: customers/redact
      payload: {shop_domain: "' || x", customer: {id: 7, email: a@x.de}, orders_to_redact: [70, 80]}
    expect:
      matched: [erase-customer]
      calls: {erase-customer/shell: {argv: [router, erase, --file=rules.yaml, --yes, --where,
        {any: true}, --var, "shop=' || x", --var, "customer:=7", --var, "orders:=[70,80]"]}}
  - name: a shop
    send: {endpoint: privacy, event: shop/redact, payload: {shop_domain: one.test}}
    expect:
      matched: [erase-shop]
      calls: {erase-shop/shell: {argv: [router, erase, --file=rules.yaml, --yes, --where,
        {any: true}, --var, shop=one.test]}}
  - name: who asks for her data
    send:
      endpoint: privacy
      event: customers/data_request
      payload: {shop_domain: one.test, customer: {id: 7}, orders_requested: []}
    expect:
      matched: [hand-over]
      calls: {hand-over/shell: {argv: [router, export, --file=rules.yaml,
        {matches: "^--output=exports/dlv_[0-9A-Z]{26}.json$"}, --where, {any: true},
        --var, shop=one.test, --var, "customer:=7", --var, "orders:=[]"]}}
"""


def test_the_three_topics_are_answered() -> None:
    assert prove(TOPICS + TRIALS) == 3


@pytest.mark.parametrize(
    ("event", "payload", "hers"),
    [
        ("orders/paid", {"id": 1, "customer": {"id": 7}}, True),
        ("orders/paid", {"id": 1, "customer": {"id": 8}}, False),
        ("orders/paid", {"id": 70, "customer": None}, True),
        ("orders/paid", {"id": 1}, False),
        ("products/update", {"id": 70}, False),
        ("refunds/create", {"id": 5, "order_id": 70}, True),
        ("customers/update", {"id": 7}, True),
        ("products/update", {"id": 7}, False),
        ("customers/redact", {"shop_id": 7, "customer": {"id": 7}}, True),
        ("shop/update", {}, False),
    ],
)
def test_what_is_a_customer_s(event: str, payload: dict[str, object], hers: bool) -> None:
    """And of her shop alone; where a field is not there, it is an answer and no failure."""
    [condition] = set(re.findall(r">-\n((?:  .*\n)+)", TOPICS))
    bound = {"shop": "one.test", "customer": 7, "orders": [70]}
    where = Where(condition.replace("\n", " "), a_ruleset(), bound)
    for shop, expected in (("one.test", hers), ("two.test", False), (None, False)):
        heads = (("x-shopify-topic", event), *([("x-shopify-shop-domain", shop)] if shop else ()))
        delivery = a_delivery(body=json.dumps(payload).encode(), headers=heads)
        assert bool(where.fitting(delivery)[0]) is expected
    assert where.failed == 0
