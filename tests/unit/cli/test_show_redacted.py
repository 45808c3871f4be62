"""What commands say of a redacted delivery."""

import asyncio
import json
from pathlib import Path

import pytest

from router.clock import SystemClock
from router.model.delivery import BLANKED, REDACTED, Redaction
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests.acceptance.process import free_ports
from tests.builders import a_delivery, an_event
from tests.unit.cli.conftest import Router
from tests.unit.cli.held_router import held_router

MARK = Redaction(1_790_000_000_000, "ab" * 32, ("payload.email", 'headers."x-user"'))
RULES = """\
version: 1
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}
rules:
  - {id: hers, from: shop, match: payload.email == 'anna@x.de', actions: {log: x}}
"""


async def fill(store: Path) -> None:
    ledger = await open_store(str(store), clock=SystemClock())
    delivery = a_delivery(
        provider="commerce",
        headers=(("x-shopify-topic", "orders/paid"),),
        body=b'{"email": "[redacted]"}',
        flags=(REDACTED, BLANKED),
        redacted=MARK,
        state="unmatched",
    )
    await ledger.accept(Acceptance(delivery, (an_event(),), ()))
    await ledger.close()


@pytest.mark.long
def test_show_explain_and_the_plan_of_a_replay_say_what_is_missing(
    tmp_path: Path, router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    asyncio.run(fill(tmp_path / "router.db"))
    place = ["-f", str(tmp_path / "rules.yaml")]
    id_ = a_delivery().id
    shown = router("show", id_, *place).out
    assert "blanked: its whole body was taken out, as the values could not be cut" in shown
    assert 'redacted  payload.email, headers."x-user" at ' in shown
    assert f"the body came with SHA-256 {'ab' * 32}" in shown
    told = json.loads(router("show", id_, "--json", *place).out)["delivery"]["redacted"]
    assert told == {
        "at": "2026-09-21T14:13:20.000Z",
        "sha256": "ab" * 32,
        "paths": ["payload.email", 'headers."x-user"'],
    }
    why = router("explain", id_, *place).out
    assert "UNKNOWN: decided on a value that is no longer here (payload.email)" in why
    monkeypatch.setenv("ROUTER_ADMIN", f"127.0.0.1:{free_ports(1)[0]}")
    with held_router(tmp_path / "rules.yaml"):
        plan = router("replay", id_, "--dry-run", *place)
    assert "redacted: matched and run without the values" in plan.out + plan.err
    listed = router("deliveries", "--json", *place).out
    assert json.loads(listed)[0]["flags"] == ["redacted", "blanked"]
