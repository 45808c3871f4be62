"""docs/replay.md: its commands do what it says, and its options are those that there are."""

import asyncio
import json
import re
import shlex
import time
from pathlib import Path

import pytest

from router.cli.main import run
from router.cli.replay import replay
from router.serving.upkeep import AUDIT_MS
from router.store.values import AUDIT_LINES
from tests.acceptance.process import free_ports
from tests.docs.pages import lines
from tests.unit.cli.held_router import held_router
from tests.unit.cli.test_stored import DLV, JOB, fill

PAGE = (Path(__file__).parents[2] / "docs" / "replay.md").read_text("utf-8")
RULES = """
version: 1
server: {store: "sqlite:router.db", admin: "127.0.0.1:1"}
secrets: {s: {env: SHOP_SECRET}}
endpoints:
  shop: {id: 0123456789abcdef, provider: shopify, secrets: s}
rules:
  - {id: paid, from: shop, events: orders/paid, actions: {log: "hello"}}
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES.replace("127.0.0.1:1", f"127.0.0.1:{free_ports(1)[0]}"), "utf-8")
    asyncio.run(fill(tmp_path / "router.db", time.time_ns() // 1_000_000))
    return path


def asked(rules: Path, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """What a command prints; it must succeed."""
    command, *rest = args
    code = run([command, "-f", str(rules), *rest], {})
    out, err = capsys.readouterr()
    assert code == 0, err
    return str(out)


@pytest.mark.parametrize("line", lines("replay.md"))
def test_its_commands_work(line: str, rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [cause] = json.loads(asked(rules, capsys, "dead", "--json"))
    filled = line.replace("KEY", cause["key"]).replace("DELIVERY", DLV).replace("JOB", JOB)
    with held_router(rules):
        if line.startswith("router cancel --replay"):
            asked(rules, capsys, "replay", "--state", "dead", "--as", "outage-0301", "--yes")
        asked(rules, capsys, *shlex.split(filled)[1:])


def test_its_options_are_those_that_there_are() -> None:
    there = {opt for param in replay.params for opt in param.opts if opt.startswith("--")}
    reported = set(re.findall(r"`(--[a-z-]+)", PAGE))
    assert reported - there == {"--list"}
    general = {"--file", "--json", "--dev", "--store", "--admin", "--server"}
    assert there - reported <= general


def test_its_numbers_are_those_that_there_are() -> None:
    assert f"{AUDIT_MS // 86_400_000} days" in PAGE
    assert f"{AUDIT_LINES:,}" in PAGE
