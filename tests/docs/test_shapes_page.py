"""docs/shapes.md shows what `shapes learn` writes, and what `check` then says."""

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from router.cli.main import run
from router.clock import SystemClock
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests.builders import NOW, a_delivery, an_event
from tests.docs.pages import block

PAGE = "shapes.md"
COUNT = 1_500
RULES = """\
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
rules:
  - id: example
    from: shop
    events: orders/paid
    match:
      - payload.landing_site != null
      - payload.loyalty.tier == 'gold'
    actions: {log: "{{ payload.id }}"}
"""


def acceptance(number: int) -> Acceptance:
    order = {
        "id": number,
        "total_price": "512.50",
        "note": None if number % 2 else "Thank you",
        "loyalty": {"tier": "gold" if number % 3 else "silver", "points": number},
        "customer": {"first_name": "Ada", "email": "ada@example.com"},
    }
    delivery = a_delivery(
        id=f"dlv_{number:026d}",
        received_at=NOW,
        provider="commerce",
        headers=(("content-type", "application/json"), ("x-shopify-topic", "orders/paid")),
        body=msgspec.json.encode(order),
    )
    return Acceptance(delivery, (an_event(id=f"evt_{number:026d}"),), ())


async def fill(path: Path) -> None:
    store = await open_store(str(path), clock=SystemClock())
    await asyncio.gather(*[store.accept(acceptance(number)) for number in range(COUNT)])
    await store.close()


def test_the_example_is_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.yaml").write_text(RULES, "utf-8")
    asyncio.run(fill(tmp_path / "router.db"))
    monkeypatch.chdir(tmp_path)
    program, *args = block(PAGE, "sh").split()
    assert program == "router"
    assert run(args, os.environ) == 0
    assert (tmp_path / "shapes" / "shop.yaml").read_text("utf-8") == block(PAGE, "yaml")
    capsys.readouterr()
    assert run(["check"], os.environ) == 0
    said, _ = capsys.readouterr().out.split("\nmore about each")
    assert said == block(PAGE, "text")
