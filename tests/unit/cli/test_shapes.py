"""`router shapes learn` on a real store, and what `check` makes of it."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from router.clock import SystemClock
from router.config import KeptFiles, load
from router.model.delivery import Delivery
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests.builders import a_delivery, an_event
from tests.unit.cli.conftest import Router

ORDER = {
    "id": 1,
    "total_price": "512.50",
    "note": None,
    "loyalty": {"tier": "gold", "points": 7},
    "customer": {"first_name": "Ada", "email": "ada@example.com", "state": "enabled"},
}
PAID = (("x-shopify-topic", "orders/paid"), ("content-type", "application/json"))


def delivery(number: int, payload: Any = ORDER, **more: Any) -> Delivery:
    given = {
        "id": f"dlv_01{number:024}",
        "received_at": time.time_ns() // 1_000_000 - 60_000 + number,
        "provider": "commerce",
        "headers": PAID,
        "body": payload if isinstance(payload, bytes) else json.dumps(payload).encode(),
    }
    return a_delivery(**given | more)


def keep(rules: Path, *deliveries: Delivery) -> None:
    async def fill() -> None:
        store = await open_store(str(rules.parent / "router.db"), clock=SystemClock())
        for one in deliveries:
            await store.accept(Acceptance(one, (an_event(id="evt_" + one.id[4:]),), ()))
        await store.close()

    asyncio.run(fill())


@pytest.fixture
def learned(rules: Path) -> Path:
    return rules.parent / "shapes" / "shop.yaml"


def test_what_has_come_is_written_beside_the_rules(
    router: Router, rules: Path, learned: Path
) -> None:
    keep(rules, *(delivery(n) for n in range(25)))
    ran = router("shapes", "learn", "-f", rules, "--endpoint", "shop")
    assert ran.out.splitlines()[1].split() == ["shop", "25", "1", str(learned)]
    day = time.strftime("%Y-%m-%d", time.gmtime())
    assert learned.read_text("utf-8") == (
        f"""\
# Fields of the last 25 deliveries to `shop`, {day} to {day}.
# `router shapes learn` writes this for `router check`. Of values it has names of states alone.
payloads:
- for: orders/paid
  seen: 25
  fields:
    customer:
      fields:
        email: email
        first_name: string
        state: string
    id: integer
    loyalty:
      fields:
        points: integer
        tier:
          known:
          - gold
    note: any
    total_price: money
"""
    )


def test_it_is_the_same_again_and_leaves_the_store_as_it_was(
    router: Router, rules: Path, learned: Path
) -> None:
    keep(rules, *(delivery(n) for n in range(3)))
    store = rules.parent / "router.db"
    before = store.read_bytes()
    assert router("shapes", "learn", "-f", rules).code == 0
    text = learned.read_bytes()
    assert router("shapes", "learn", "-f", rules).code == 0
    assert learned.read_bytes() == text
    assert store.read_bytes() == before
    assert [file.name for file in learned.parent.iterdir()] == ["shop.yaml"]


def test_only_what_was_proved_and_read_teaches(router: Router, rules: Path, learned: Path) -> None:
    keep(
        rules,
        delivery(1, {"id": 1}),
        delivery(2, {"forged": 1}, verified_by=None),
        delivery(3, b"no JSON", state="unparsed"),
        delivery(4, {"replayed": 1}, replay_of="dlv_1"),
        delivery(5, {"other": 1}, endpoint="code", provider="code-host"),
    )
    ran = router("shapes", "learn", "-f", rules, "--endpoint", "shop", "--json")
    assert json.loads(ran.out)[0]["deliveries"] == 1
    assert "fields:\n    id: integer\n" in learned.read_text("utf-8")
    assert "forged" not in learned.read_text("utf-8")


def test_of_the_newest_only(router: Router, rules: Path, learned: Path) -> None:
    keep(rules, *(delivery(n, {"id": 1, "a" if n < 5 else "b": 1}) for n in range(8)))
    assert router("shapes", "learn", "-f", rules, "--last", "3").code == 0
    assert "    b: integer\n" in learned.read_text("utf-8")
    assert "    a" not in learned.read_text("utf-8")


def test_without_deliveries_nothing_is_written(router: Router, rules: Path, learned: Path) -> None:
    ran = router("shapes", "learn", "-f", rules)
    assert (ran.code, "nothing has been received yet" in ran.err) == (0, True)
    assert not learned.parent.exists()


def test_an_endpoint_that_is_not_there_is_named(router: Router, rules: Path) -> None:
    ran = router("shapes", "learn", "-f", rules, "--endpoint", "shpo")
    assert ran.code == 2
    assert "did you mean 'shop'?" in ran.err


def test_check_knows_the_fields_that_came(router: Router, rules: Path, learned: Path) -> None:
    text = rules.read_text("utf-8").replace(
        "events: orders/paid, ", "events: orders/paid, match: \"payload.loyalty.tier == 'gold'\", "
    )
    rules.write_text(text, "utf-8")
    assert "no known field 'loyalty'" in router("check", rules).out
    keep(rules, *(delivery(n) for n in range(25)))
    assert router("shapes", "learn", "-f", rules).code == 0
    assert "warning" not in router("check", rules).out
    learned.write_text(learned.read_text("utf-8").replace("points: integer", "points: whole"))
    ran = router("check", rules)
    assert ran.code == 1
    line = 1 + learned.read_text("utf-8").splitlines().index("        points: whole")
    assert f"shapes/shop.yaml:{line}:17: error bad-shapes: " in ran.out
    assert "whole" in ran.out.split("bad-shapes")[1]


def test_a_generation_is_read_where_its_learned_shapes_are_not() -> None:
    """Only they knew that `notes` is no misspelling of `note`."""
    text = """
version: 1
endpoints: {shop: {paths: /shop, provider: shopify, verify: none}}
rules: [{id: a, from: shop, events: orders/paid, match: payload.notes == 'x', actions: {log: x}}]
"""
    assert load(text, path="rules.yaml", env={}).ruleset is None
    kept = load(text, path="rules.yaml", env={}, files=KeptFiles({}))
    assert kept.ruleset is not None
    assert [(d.code, d.severity) for d in kept.diagnostics] == [("misspelt-field", "warning")]
