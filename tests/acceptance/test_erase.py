"""A person is erased by a running router: by the action of the very delivery that asks for it."""

import json
import sys
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import Rig, RouterProcess, called

ANN, BOB = "ann@example.com", 'o\'bob "b"@example.com'
RULES = f"""
endpoints:
  shop: {{paths: /shop, provider: shopify, verify: none}}
rules:
  - id: orders
    from: shop
    events: orders/paid
    actions: {{shell: {{argv: [echo, "{{{{ payload.customer.email }}}}"]}}}}
  - id: forget
    from: shop
    events: customers/redact
    actions:
      shell:
        argv: [{sys.executable}, -m, router, erase, --yes, --where,
               payload.customer.email == var.email, --var, "email={{{{ payload.customer.email }}}}"]
        pass_env: [ROUTER_RULES]
"""


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path / "router", RULES)
    rig.environ["ROUTER_RULES"] = str(rig.path)  # so that the action finds this router
    return rig


def post(router: RouterProcess, topic: str, number: int, email: str) -> str:
    headers = {"x-shopify-topic": topic, "x-shopify-webhook-id": f"{topic}-{number}"}
    body = {"id": number, "customer": {"email": email}, "pad": "x" * 9_000}
    answer = httpx.post(f"{router.url}/shop", json=body, headers=headers, trust_env=False)
    assert answer.status_code == 200
    return str(answer.json()["status"])


def holding(rig: Rig, email: str) -> list[str]:
    """The files of the store in which an address is, as it is or as JSON has it."""
    forms = (email.encode(), json.dumps(email).encode()[1:-1])
    files = [path for path in rig.folder.glob("router.db*") if path.name != "router.db.lock"]
    return [p.name for p in files if any(form in p.read_bytes() for form in forms)]


def states(rig: Rig) -> list[str]:
    code, out, err = called(rig, "erase", "--status", "--json")
    assert code == 0, err
    return [one["state"] for one in json.loads(out)["erasures"]]


@pytest.mark.long
@pytest.mark.parametrize("killed", [False, True], ids=["it runs on", "it is killed"])
def test_the_delivery_that_asks_for_it_goes_too(rig: Rig, killed: bool) -> None:
    with rig.router() as router:
        for number in range(30):
            post(router, "orders/paid", number, BOB if number % 3 else ANN)
        post(router, "customers/redact", 1, BOB)
        router.until(lambda: states(rig) != [], "the erasure")
        if killed:  # perhaps amid the action, which then runs once more
            router.kill()
            router.start()
        router.until(lambda: set(states(rig)) == {"done"}, "its end")
        assert holding(rig, BOB) == []
        assert holding(rig, ANN) != []
        assert post(router, "orders/paid", 1, BOB) == "duplicate"
        _, out, _ = called(rig, "deliveries", "--json", "--limit", "50")
        assert len(json.loads(out)) == 10
        _, out, _ = called(rig, "audit", "--json")
        assert {line["verb"] for line in json.loads(out)} == {"erase"}
        assert sum(line["count"] for line in json.loads(out)) == 21
