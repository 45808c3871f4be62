"""`explain`: of stored deliveries by the rules that decided, and of payloads at hand."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from router.clock import SystemClock
from router.model.delivery import Delivery
from router.store.sqlite.store import open_store
from router.store.values import Acceptance, Generation
from router.wiring.live import generation_of
from router.wiring.rules import read_rules
from tests.builders import a_delivery, an_event
from tests.unit.cli.conftest import ROOT, SMALL, Ran, Router

ORDER = "dlv_01ABCDEFGH0123456789ABCDEF"
MAILS = "dlv_01BBCDEFGH0123456789ABCDEF"
TORN = "dlv_01CBCDEFGH0123456789ABCDEF"
LOST = "dlv_01DBCDEFGH0123456789ABCDEF"

THEN = (
    SMALL.replace("rules:\n", "vars: {least: {env: LEAST}}\nrules:\n")
    + """\
  - id: big
    from: shop
    events: orders/paid
    match:
      - decimal(payload.total_price) >= decimal(var.least)
      - payload.currency == 'EUR' || payload.vip
    actions: {log: x}
  - {id: swiss, from: shop, match: "payload.currency == 'CHF'", actions: {log: x}}
  - {id: odd, from: shop, match: payload.total_price > 3, actions: {log: x}}
  - {id: rest, from: shop, otherwise: true, actions: {log: x}}
"""
)
PAYLOAD = b'{"id": 7, "total_price": "612.50", "currency": "US\\u001b[31mD", "vip": null}'


class Ledger(NamedTuple):
    """A rules file changed since its store was filled; `then` is the generation of that day."""

    rules: Path
    then: Generation


def headers(event: str) -> tuple[tuple[str, str], ...]:
    return (("content-type", "application/json"), ("x-shopify-topic", event))


def delivery(id_: str, **given: Any) -> Delivery:
    return a_delivery(id=id_, provider="commerce", **given)


async def fill(store: Path, then: Generation) -> None:
    ledger = await open_store(str(store), clock=SystemClock())
    await ledger.keep_generation(then)
    order = delivery(ORDER, headers=headers("orders/paid"), body=PAYLOAD, generation=then.id)
    mails = a_delivery(
        id=MAILS,
        endpoint="mail",
        provider="email",
        verified_by="mail",
        body=b'[{"event": "bounce", "email": "a@b"}, {"event": "click", "email": "c@d"}]',
        generation=then.id,
        event_count=2,
    )
    torn = delivery(
        TORN, body=b"{", state="unparsed", headers=headers("orders/paid"), generation=then.id
    )
    for one, index in ((order, 0), (mails, 1), (torn, 0)):
        await accept(ledger, one, index)
    await accept(ledger, delivery(LOST, body=PAYLOAD, generation="0" * 16), 0)
    await ledger.close()


async def accept(ledger: Any, one: Delivery, index: int) -> None:
    event = an_event(id="evt_" + one.id[4:], index=index)
    await ledger.accept(Acceptance(one, (event,), ()))


@pytest.fixture
def ledger(rules: Path) -> Ledger:
    rules.write_text(THEN, "utf-8")
    ruleset = read_rules(rules, environ={"LEAST": "500"}).ruleset
    assert ruleset is not None
    then = generation_of(ruleset, SystemClock())
    asyncio.run(fill(rules.parent / "router.db", then))
    rules.write_text(SMALL, "utf-8")
    return Ledger(rules, then)


@pytest.fixture
def explain(router: Router, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """`router explain`, the rules file named by the variable."""
    monkeypatch.setenv("ROUTER_RULES", str(ledger.rules))
    return lambda *args: router("explain", *args)


def statuses(ran: Ran, event: int = 0) -> dict[str, str]:
    assert (ran.code, ran.err) == (0, "")
    return {r["rule"]: r["status"] for r in json.loads(ran.out)["events"][event]["rules"]}


def test_a_delivery_is_explained_by_the_rules_that_decided(explain: Router, ledger: Ledger) -> None:
    """With the variables of that day: LEAST is not set any more."""
    ran = explain(ORDER[:14], "--json")
    assert statuses(ran) == {
        "paid": "matched",
        "pushes": "not for this endpoint",
        "bounces": "not for this endpoint",
        "big": "not matched",
        "swiss": "not matched",
        "odd": "error",
        "rest": "quiet",
    }
    reported = json.loads(ran.out)
    assert reported["generation"] == reported["decided_by"] == ledger.then.id
    assert (reported["delivery"], reported["verified_by"], reported["duplicates"]) == (
        ORDER,
        "shop",
        0,
    )


def test_the_sender_has_the_name_that_its_endpoint_gave_it(explain: Router, ledger: Ledger) -> None:
    """Whatever today's file calls it: the rules that decided know the sender all the same."""
    assert json.loads(explain(ORDER, "--json").out)["provider"] == "shopify"
    ledger.rules.write_text(SMALL.replace("provider: shopify", "provider: commerce"), "utf-8")
    ran = explain(ORDER, "--json")
    assert statuses(ran)["paid"] == "matched"
    assert json.loads(ran.out)["provider"] == "shopify"


def test_json_has_every_leaf_with_its_value(explain: Router) -> None:
    reported = json.loads(explain(ORDER, "--json", "--rule", "big").out, parse_float=str)
    [rule] = reported["events"][0]["rules"]
    price, both = rule["match"]
    assert price["leaves"][0]["found"][0] == {
        "text": "decimal(payload.total_price)",
        "type": "number",
        "value": "612.50",
    }
    assert [leaf["number"] for leaf in both["leaves"]] == [2, 3]
    assert (rule["missing"], rule["would_match_by_one_of"]) == (1, [2, 3])
    vip = both["leaves"][1]
    assert both["source"][vip["start"] : vip["end"]] == "payload.vip"
    assert rule["changes"][0] == {
        "leaf": 2,
        "of": "payload.currency",
        "needs": "needs 'EUR'",
        "found": {"text": "payload.currency", "type": "string", "value": "US\x1b[31mD"},
        "hint": None,
    }
    assert vip["found"] == [{"text": "payload.vip", "type": "null", "value": None}]


def test_the_text_is_grouped_and_says_what_was_found(explain: Router) -> None:
    ran = explain(ORDER)
    assert (ran.code, ran.err) == (0, "")
    places = [ran.out.index(t) for t in ("\nmatched", "\nnear misses", "\nerrors", "\nothers")]
    assert places == sorted(places)
    assert "verified  by secret 'shop'" in ran.out
    assert "dedupe    new; received once" in ran.out
    assert "which decided" in ran.out
    assert "payload.vip = null" in ran.out
    assert "the smallest change, one of:\n      2 payload.currency needs 'EUR', is " in ran.out
    assert "3 payload.vip needs to be true, or not empty, is null" in ran.out
    assert "it is a text; write decimal(payload.total_price)" in ran.out
    assert "skipped by the index: payload.currency is " in ran.out
    assert "is a string; " in ran.out
    assert "rest  otherwise: skipped, because paid matched" in ran.out
    assert "bounces  not for this endpoint: from mail" in ran.out
    assert "\x1b" not in ran.out


def test_a_file_named_explains_instead(explain: Router, ledger: Ledger) -> None:
    ran = explain(ORDER, "-f", ledger.rules, "--json")
    assert set(statuses(ran)) == {"paid", "pushes", "bounces"}
    assert json.loads(ran.out)["decided_by"] == ledger.then.id
    assert "not those that decided" in explain(ORDER, "-f", ledger.rules).out


@pytest.mark.long
def test_an_event_of_a_batch_that_was_known_before(explain: Router) -> None:
    ran = explain(MAILS, "--json")
    assert [e["known_before"] for e in json.loads(ran.out)["events"]] == [True, False]
    assert statuses(ran, 0)["bounces"] == "matched"
    one = explain(MAILS, "--event", "1")
    assert "event 1: click evt_" in one.out
    assert "event 0" not in one.out
    assert "a duplicate event" in explain(MAILS).out
    assert "dedupe    1 of 2 events were known already, so not routed" in explain(MAILS).out


def test_one_rule_is_shown_whole(explain: Router) -> None:
    ran = explain(ORDER, "--rule", "swiss")
    assert "swiss  NOT MATCHED  1 of 1 leaf failed" in ran.out
    assert "big" not in ran.out


def test_what_was_not_parsed_asked_no_rule(explain: Router) -> None:
    ran = explain(TORN)
    assert ran.code == 0
    assert "no rule was evaluated: unparsed" in ran.out
    assert json.loads(explain(TORN, "--json").out)["events"] == []


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["dlv_99999999"], 1, "no delivery or job has the id 'dlv_99999999'"),
        (["job_99999999"], 2, "explain takes a delivery; `router show job_99999999`"),
        ([ORDER, "--rule", "gone"], 1, "there is no rule 'gone'"),
        ([MAILS, "--event", "2"], 1, "has no event 2"),
        ([ORDER, "--event", "push"], 2, "the number of an event"),
        ([LOST], 1, "no longer has generation 0000000000000000"),
        ([], 2, "name a delivery"),
        ([ORDER, "--endpoint", "shop"], 2, "name a delivery"),
        (["--payload", "x", "--endpoint", "shop"], 2, "--payload takes"),
        (["--payload", "x", "--endpoint", "shpo", "--event", "a"], 2, "did you mean 'shop'?"),
        (["--payload", "gone", "--endpoint", "shop", "--event", "a"], 2, "cannot read gone"),
    ],
)
def test_what_cannot_be_explained_is_said(
    args: list[str], code: int, said: str, explain: Router
) -> None:
    ran = explain(*args)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_generation_that_is_wrong_today_is_said(explain: Router, ledger: Ledger) -> None:
    broken = Generation("1" * 16, "version: 1\nrulez: []\n", {}, 0)
    id_ = "dlv_01EBCDEFGH0123456789ABCDEF"

    async def add() -> None:
        store = await open_store(str(ledger.rules.parent / "router.db"), clock=SystemClock())
        await store.keep_generation(broken)
        await accept(store, delivery(id_, body=PAYLOAD, generation=broken.id), 0)
        await store.close()

    asyncio.run(add())
    ran = explain(id_)
    assert ran.code == 1
    assert "cannot be read any more (line " in ran.err
    assert f"-f {ledger.rules}" in ran.err


def test_a_payload_at_hand(router: Router, rules: Path, tmp_path: Path) -> None:
    """It needs no store; one event stands for a batch of one."""
    order, mail = tmp_path / "order.json", tmp_path / "mail.json"
    order.write_bytes(PAYLOAD)
    mail.write_text('{"event": "bounce", "email": "a@b"}', "utf-8")
    given = ("explain", "-f", rules, "--json", "--payload")
    paid = router(*given, order, "--endpoint", "shop", "--event", "orders/paid")
    assert statuses(paid)["paid"] == "matched"
    answer = json.loads(paid.out)
    assert (answer["delivery"], answer["provider"]) == (None, "shopify")
    assert statuses(router(*given, mail, "--endpoint", "mail", "--event", "bounce")) == {
        "paid": "not for this endpoint",
        "pushes": "not for this endpoint",
        "bounces": "matched",
    }


def test_a_payload_that_says_it_is_something_else(router: Router, rules: Path) -> None:
    mail = rules.parent / "mail.json"
    mail.write_text('[{"event": "click", "email": "a@b"}]', "utf-8")
    ran = router("explain", "-f", rules, "--payload", mail, "--endpoint", "mail", "--event", "open")
    assert (ran.code, ran.err) == (0, "by its payload this is click, not open\n")
    assert "bounces  not for this event: wants bounce" in ran.out


@pytest.mark.long
def test_it_imports_no_server(ledger: Ledger) -> None:
    script = (
        "import os, sys\nfrom router.cli.main import run\n"
        f"code = run(['explain', '{ORDER}'], os.environ)\n"
        "print(code, {'litestar', 'structlog'} & set(sys.modules))\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "ROUTER_RULES": str(ledger.rules)}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "0 set()"
