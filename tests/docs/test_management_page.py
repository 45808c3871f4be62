"""Everything docs/management.md shows, done against a server that follows the interface."""

from pathlib import Path

import pytest

from tests.api_server import TOKEN, api_server
from tests.docs.pages import reading, steps

pytestmark = pytest.mark.long

PAGE = "management.md"


def test_the_page_as_its_reader_does_it(tmp_path: Path) -> None:
    [rules] = [text for kind, text in steps(PAGE) if kind == "yaml"]
    commands = [line for kind, line in steps(PAGE) if kind == "sh"]
    said = {}
    with api_server() as api, reading(tmp_path) as reader:
        for name in ("SHOP_WEBHOOK_SECRET", "HUB_WEBHOOK_SECRET"):
            reader.environ[name] = "x" * 32
        reader.environ |= {"SHOP_TOKEN": TOKEN, "HUB_TOKEN": TOKEN}
        text = rules.replace("https://example-shop.test", api.url)
        reader.write(text.replace("api: {token", f"api: {{base: '{api.url}', token"))
        for command in commands:
            said[command] = reader.do(command)
        dry, made, listed, _tested, _dispatched = said.values()
        assert dry.endswith("2 subscriptions to create\n")
        assert made.endswith("2 subscriptions created\n")
        assert listed.count(" made ") == 2
        assert [asked.path.rsplit("/", 1)[1] for asked in api.asked] == [
            "webhooks.json",
            "webhooks.json",
            "notifications.json",
            "dispatches",
        ]
        assert TOKEN not in "".join(said.values())
