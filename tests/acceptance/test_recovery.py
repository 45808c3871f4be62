"""Recovery in the running program: by itself, and by command; what was fetched runs its actions."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.process import Rig, called
from tests.api_server import TOKEN, ApiServer, api_server

pytestmark = pytest.mark.long

RULES = """
secrets: {pay: {env: PAY_SECRET}, key: {env: PAY_KEY}}
endpoints:
  pay:
    id: pay-0123456789abcdef
    provider: stripe
    secrets: pay
    api: {base: "BASE", token: key}
    recover: {every: 1h}
rules:
  - {id: paid, from: pay, events: invoice.paid, actions: {log: "saw {{ payload.id }}"}}
"""


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


def test_missed_events_are_fetched_and_run(tmp_path: Path, api: ApiServer) -> None:
    environ = {"PAY_SECRET": "s" * 32, "PAY_KEY": TOKEN}
    rig = Rig(tmp_path / "router", RULES.replace("BASE", api.url), environ)
    now = int(time.time())
    api.missed.events = [{"id": "evt_1", "type": "invoice.paid", "created": now - 60}]
    with rig.router() as router:
        router.until(lambda: "saw evt_1" in router.output(), "the action to run")
        router.until(lambda: last_run(rig)["state"] == "done", "the end")
        assert last_run(rig)["stored"] == 1
        api.missed.events.insert(0, {"id": "evt_2", "type": "invoice.paid", "created": now})
        code, out, err = called(rig, "recover", "pay", "--yes", "--json")
        assert code == 0, err
        assert (json.loads(out)["stored"], json.loads(out)["passed"]) == (1, 1)
        router.until(lambda: "saw evt_2" in router.output(), "the second to run")
        metrics = httpx.get(f"{router.admin_url}/metrics", trust_env=False).text
        assert 'router_recovered_total{endpoint="pay",result="stored"} 2.0' in metrics


def last_run(rig: Rig) -> Any:
    """As the server tells it."""
    token = Path(f"{rig.store}.token").read_text("utf-8").strip()
    found = httpx.get(
        f"http://127.0.0.1:{rig.admin}/api/status",
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
    ).json()
    return found["recoveries"].get("pay", {"state": "none"})
