"""docs/diff.md shows what `diff` says."""

import asyncio
import os
from pathlib import Path

import pytest

from router.cli.main import run
from router.clock import SystemClock
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests.builders import a_delivery, an_event
from tests.docs.pages import blocks

PAGE = "diff.md"


async def fill(store: Path, bodies: list[str]) -> None:
    ledger = await open_store(str(store), clock=SystemClock())
    for number, body in enumerate(bodies, 1):
        delivery = a_delivery(
            id=f"dlv_01M5R3YPN1{number:016d}",
            provider="commerce",
            headers=(("content-type", "application/json"), ("x-shopify-topic", "orders/paid")),
            body=body.encode(),
        )
        event = an_event(id=f"evt_{number:026d}")
        await ledger.accept(Acceptance(delivery, (event,), ()))
    await ledger.close()


def test_the_example_is_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in zip(("old", "new"), blocks(PAGE, "yaml"), strict=True):
        (tmp_path / f"{name}.yaml").write_text(text, "utf-8")
    asyncio.run(fill(tmp_path / "router.db", blocks(PAGE, "json")[0].splitlines()))
    monkeypatch.chdir(tmp_path)
    program, *args = blocks(PAGE, "sh")[0].split()
    assert program == "router"
    assert run(args, os.environ) == 1
    assert capsys.readouterr().out == blocks(PAGE, "text")[0]
