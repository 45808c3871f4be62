"""`router new test`: a stored delivery becomes a test that passes."""

import asyncio
import json
from pathlib import Path

import pytest

from router.clock import SystemClock
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests.builders import a_delivery, an_event
from tests.unit.cli.conftest import Router

DLV = "dlv_01ABCDEFGH0123456789ABCDEF"
BATCH = "dlv_7ABCDEFGH00123456789ABCDEF"
RULES = """\
version: 1
server: {store: "sqlite:router.db"}
secrets: {shop: {env: SHOP_SECRET}, mail: {env: MAIL}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
  mail: {id: 2b7d4e9a0c1f4b8e8d3a6f5c9e7b1a20, provider: sendgrid, secrets: mail}
rules:
  - id: paid
    from: shop
    events: orders/paid
    match: headers."x-tier" == 'gold' && decimal(payload.total_price) >= 1.5
    actions: {log: "{{ payload.name }}"}
  - id: tried
    mode: shadow
    from: shop
    match: starts_with(delivery.received_at, '2026-09-21')
    actions: {log: '{{ headers."x-token" }}'}
  - {id: bounced, from: mail, events: bounce, actions: {log: "{{ payload.email }}"}}
"""
BODY = b'{"id": 7, "name": "caf\\u00e9: #1, \\"x\\"", "total_price": 1.50, "note": "1e3"}'
HEADERS = (
    ("x-shopify-topic", "orders/paid"),
    ("x-shopify-hmac-sha256", "[removed]"),
    ("x-tier", "gold"),
    ("x-token", "[removed]"),
    ("x-other", "unread"),
)


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    monkeypatch.chdir(tmp_path)
    return path


def keep(rules: Path, identity: str, body: bytes, **given: object) -> None:
    async def accept() -> None:
        store = await open_store(str(rules.with_name("router.db")), clock=SystemClock())
        delivery = a_delivery(id=identity, body=body, received_at=1_790_000_000_000, **given)
        event = an_event(id="evt_" + identity[4:], keys=(identity.encode(),))
        await store.accept(Acceptance(delivery, (event,), (), 2**50))
        await store.close()

    asyncio.run(accept())


SHOP = {"endpoint": "shop", "provider": "commerce", "headers": HEADERS}


def test_it_is_printed_and_passes(router: Router, rules: Path) -> None:
    keep(rules, DLV, BODY, **SHOP)
    ran = router("new", "test", "dlv_01AB", "-f", rules)
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out
        == f"""\
tests:
  - name: "orders/paid {DLV}"
    clock: 2026-09-21T14:13:20.000Z
    send:
      endpoint: shop
      event: orders/paid
      payload: {{
          "id": 7,
          "name": "café: #1, \\"x\\"",
          "total_price": 1.50,
          "note": "1e3"
        }}
      headers: {{
          "x-tier": "gold"
        }}
    expect:
      status: 200
      matched: [paid]
      shadow: [tried]
      calls: {{paid/log: {{times: 1}}}}
"""
    )
    rules.write_text(RULES + ran.out)
    assert router("check", rules, "--strict").code == 0
    assert router("test", rules).code == 0


def test_a_large_payload_stands_in_a_file(router: Router, rules: Path) -> None:
    body = b'[{"event": "bounce", "email": "a@example.com", "sg_event_id": "one", "reason": "%s"}]'
    keep(rules, BATCH, body % (b"x" * 2_000), endpoint="mail", provider="email", headers=())
    ran = router("new", "test", BATCH, "-f", rules)
    file = rules.parent / "payloads" / f"bounce-{BATCH}.json"
    assert ran.code == 0
    assert f"payload: {{file: {f'payloads/{file.name}'}}}\n" in ran.out
    assert "look through it" in ran.err
    assert json.loads(file.read_bytes())[0]["sg_event_id"] == "one"
    rules.write_text(RULES + ran.out)
    assert router("check", rules).code == 0
    assert router("test", rules).code == 0


def test_json(router: Router, rules: Path) -> None:
    keep(rules, DLV, BODY, **SHOP)
    found = json.loads(router("new", "test", DLV, "-f", rules, "--json").out)
    assert found["send"]["headers"] == {"x-tier": "gold"}
    assert found["expect"]["matched"] == ["paid"]


def test_what_cannot_be_sent_is_said(router: Router, rules: Path) -> None:
    keep(rules, DLV, BODY, **(SHOP | {"endpoint": "former"}))
    keep(rules, BATCH, b"\xff not json", **SHOP)
    ran = router("new", "test", DLV, "-f", rules)
    assert (ran.code, ran.out) == (2, "")
    assert "the rules file has no endpoint 'former'" in ran.err
    assert "no event can be read of it" in router("new", "test", BATCH, "-f", rules).err
    assert router("new", "test", "dlv_9", "-f", rules).code == 1
