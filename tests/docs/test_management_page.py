"""Everything docs/management.md shows, done against a server that follows the interface."""

import time
from pathlib import Path

import pytest

from tests.api_server import TOKEN, api_server
from tests.docs.pages import reading, steps
from tests.missed_api import Attempt

pytestmark = pytest.mark.long

PAGE = "management.md"


def test_the_page_as_its_reader_does_it(tmp_path: Path) -> None:
    [rules, _] = [text for kind, text in steps(PAGE) if kind == "yaml"]
    commands = [line for kind, line in steps(PAGE) if kind == "sh" and "recover" not in line]
    said = {}
    with api_server() as api, reading(tmp_path) as reader:
        for name in ("SHOP_WEBHOOK_SECRET", "HUB_WEBHOOK_SECRET"):
            reader.environ[name] = "x" * 32
        reader.environ |= {"SHOP_TOKEN": TOKEN, "HUB_TOKEN": TOKEN}
        text = rules.replace("https://example-shop.test", api.url)
        reader.write(text.replace("api: {token", f"api: {{base: '{api.url}', token"))
        reader.do("router serve")
        for command in commands:
            said[command] = reader.do(command)
        dry, made, listed, _tested, _dispatched = said.values()
        assert dry.endswith("2 subscriptions to create\n")
        assert made.endswith("2 subscriptions created\n")
        assert listed.count(" made ") == 2
        asked = [one.path.rsplit("/", 1)[1] for one in api.asked]
        assert [path for path in asked if path != "meta"] == [  # the router's own: ranges
            "webhooks.json",
            "webhooks.json",
            "notifications.json",
            "dispatches",
        ]
        assert TOKEN not in "".join(said.values())


def test_missed_deliveries_as_its_reader_asks_for_them(tmp_path: Path) -> None:
    [_, rules] = [text for kind, text in steps(PAGE) if kind == "yaml"]
    commands = [line for kind, line in steps(PAGE) if kind == "sh" and "recover" in line]
    now = int(time.time())
    with api_server() as api, reading(tmp_path) as reader:
        for name in ("HUB_WEBHOOK_SECRET", "STRIPE_WEBHOOK_SECRET"):
            reader.environ[name] = "x" * 32
        reader.environ |= {"HUB_TOKEN": TOKEN, "STRIPE_KEY": TOKEN}
        address = "https://hooks.example.com/wh_97aa1b0c7d8e6f548c1f0e7a5b6d4c3e"
        api.missed.hooks = [{"id": 7, "config": {"url": address}}]
        reader.write(rules.replace("api: {token", f"api: {{base: '{api.url}', token"))
        reader.do("router serve")
        log = reader.rules.with_name("router.log")
        reader.until(
            lambda: "recovery done" in log.read_text("utf-8"), "the run that `every` wants"
        )
        api.missed.attempts = [Attempt(1, "one", now - 60, "timed out")]
        api.missed.events = [{"id": "evt_1", "type": "invoice.paid", "created": now - 7 * 3600}]
        dry, asked, fetched = [reader.do(command) for command in commands]
    assert dry.startswith("1 missed delivery of 1 listed since")
    assert "1 requested: the sender delivers them again" in asked
    assert api.missed.redelivered == [1]
    assert "1 fetched and stored" in fetched
