"""The rules of docs/privacy.md that answer a shop's three topics, on a real router."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.process import ROOT, Rig, RouterProcess, called
from tests.docs.pages import blocks
from tests.signing import signed

pytestmark = pytest.mark.long

KEY = "a-made-up-shop-secret-of-32-bytes"
ONE, TWO = "one.myshopify.com", "two.myshopify.com"
ANN, BOB, EVE = (f"{name}-canary-5e0c91d7@example.com" for name in ("ann", "bob", "eve"))


class Shops:
    """Two shops, and the router that they send to."""

    def __init__(self, rig: Rig, router: RouterProcess) -> None:
        self._rig, self._router = rig, router
        self._numbers = count(1)

    def send(self, path: str, topic: str, shop: str, **payload: Any) -> str:
        """One signed delivery; its id."""
        body = json.dumps(payload).encode()
        id_ = f"id-{next(self._numbers)}"
        headers = signed("commerce", body, KEY.encode(), event=topic, delivery_id=id_)
        own = {**dict(headers), "X-Shopify-Shop-Domain": shop}
        url = f"{self._router.url}/webhooks/{path}"
        answer = httpx.post(url, content=body, headers=own, trust_env=False)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["delivery"])

    def asks(self, topic: str, shop: str, **payload: Any) -> str:
        """One of the three topics."""
        return self.send(topic, topic, shop, **{"shop_id": 1, "shop_domain": shop, **payload})

    def until_gone(self, *texts: str) -> None:
        """Wait until no file of the store has any of these."""
        self._router.until(lambda: not any(map(self.holds, texts)), f"the end of {texts}")

    def holds(self, text: str) -> bool:
        """Whether a file of the store has this."""
        files = self._rig.folder.glob("router.db*")
        return any(text.encode() in file.read_bytes() for file in files)

    def until_ended(self, delivery: str) -> None:
        """Wait until the job of a delivery has succeeded."""
        self._router.until(lambda: self._state(delivery) == ["succeeded"], f"{delivery}'s job")

    def _state(self, delivery: str) -> list[str]:
        code, out, _ = called(self._rig, "show", delivery, "--json")
        return [job["state"] for job in json.loads(out)["jobs"]] if code == 0 else []


@pytest.fixture
def shops(tmp_path: Path) -> Iterator[Shops]:
    """The page's rules run; Ann and Bob have ordered in the first shop, Eve in the second."""
    command = tmp_path / "bin" / "router"
    command.parent.mkdir()
    script = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m router "$@"\n'
    command.write_text(script, "utf-8")
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    [rules] = [text for text in blocks("privacy.md", "yaml") if "erase-customer" in text]
    environ = {"SHOP_WEBHOOK_SECRET": KEY, "PATH": path}
    rig = Rig(tmp_path / "router", rules.removeprefix("version: 1\n"), environ)
    (rig.folder / "exports").mkdir(mode=0o700)
    with rig.router() as router:
        shops = Shops(rig, router)
        for shop, customer, email in ((ONE, 7, ANN), (ONE, 8, BOB), (TWO, 7, EVE)):
            order = {"id": customer * 10, "email": email, "customer": {"id": customer}}
            shops.send("shop", "orders/paid", shop, **order)
        shops.send("shop", "refunds/create", ONE, id=5, order_id=70, note=f"for {ANN}")
        yield shops
        assert router.stop() == 0


def test_who_asks_for_her_data_is_given_hers_alone(shops: Shops, tmp_path: Path) -> None:
    ann = {"id": 7, "email": ANN, "phone": None}
    asked = shops.asks(
        "customers/data_request", ONE, customer=ann, orders_requested=[70], data_request={"id": 3}
    )
    shops.until_ended(asked)
    file = tmp_path / "router" / "exports" / f"{asked}.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = json.loads(file.read_text("utf-8"))["deliveries"]
    names = [event["name"] for one in found for event in one["events"]]
    assert names == ["orders/paid", "refunds/create", "customers/data_request"]
    assert not {BOB, EVE} & set(json.dumps(found).split('"'))


def test_a_customer_goes_and_others_stay(shops: Shops) -> None:
    ann = {"id": 7, "email": ANN, "phone": None}
    shops.asks("customers/redact", ONE, customer=ann, orders_to_redact=[70])
    shops.until_gone(ANN)
    assert shops.holds(BOB)
    assert shops.holds(EVE), "she is the other shop's"


def test_a_shop_goes_whole(shops: Shops) -> None:
    shops.asks("shop/redact", ONE)
    shops.until_gone(ANN, BOB)
    assert shops.holds(EVE)


@pytest.mark.parametrize("shop", ["' || `true` || '", '" || true', "{{ shop }}", "-f\n--yes"])
def test_a_payload_is_never_part_of_the_condition(shops: Shops, shop: str) -> None:
    shops.until_ended(shops.asks("shop/redact", ONE, shop_domain=shop))
    assert all(map(shops.holds, (ANN, BOB, EVE)))
