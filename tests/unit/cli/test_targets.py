"""`router targets`, `pause` and `resume`."""

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from router.cli.main import run
from router.cli.targets import _note_of
from router.clock import SystemClock
from router.model.target import TargetRow
from router.store.sqlite.store import open_store
from tests.acceptance.process import free_ports
from tests.clocks import ManualClock
from tests.store_values import Maker
from tests.unit.cli.held_router import held_router

RULES = """
version: 1
server: {store: "sqlite:t.db", admin: "127.0.0.1:1"}
targets:
  erp: {url: "https://erp.example.net/x?key=s3cr3t", rate: 5/s}
endpoints:
  shop: {paths: /shop, provider: shopify, verify: none}
rules:
  - {id: paid, from: shop, actions: {http: {target: erp}}}
"""


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES.replace("127.0.0.1:1", f"127.0.0.1:{free_ports(1)[0]}"), "utf-8")
    return str(path)


async def _two_jobs(folder: Path) -> None:
    store = await open_store(str(folder / "t.db"), clock=ManualClock())
    make = Maker()
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    await store.close()


@pytest.mark.long
def test_paused_listed_and_resumed(
    rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(_two_jobs(tmp_path))
    with held_router(Path(rules)):
        assert run(["targets", "pause", "erp", "--reason", "they migrate", "-f", rules], {}) == 0
    assert "erp paused; 2 job(s) wait" in capsys.readouterr().out
    assert run(["targets", "-f", rules], {}) == 0
    shown = capsys.readouterr()
    assert "paused" in shown.out
    assert "they migrate" in shown.out
    assert "no server runs at 127.0.0.1:" in shown.err  # others may, on a shared store
    assert run(["targets", "--json", "-f", rules], {}) == 0
    out = capsys.readouterr().out
    (row,) = json.loads(out)
    assert (row["state"], row["waiting"], row["by"]) == ("paused", 2, "token")
    assert "s3cr3t" not in out
    with held_router(Path(rules)):
        assert run(["targets", "resume", "erp", "-f", rules], {}) == 0
    assert "erp resumed; 2 job(s) go on" in capsys.readouterr().out


def test_a_name_that_is_none(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    with held_router(Path(rules)):
        assert run(["targets", "pause", "epr", "-f", rules], {}) == 2
    assert "did you mean 'erp'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("probe_in_ms", "says"),
    [(90_000, "refused; next call "), (-1, "refused; the next job tries it")],
)
def test_a_failing_target_is_tried_at_a_time_or_by_the_next_job(
    probe_in_ms: int, says: str
) -> None:
    probe = SystemClock().now() + probe_in_ms
    row = TargetRow(
        "erp", named=True, kind="http", state="failing", reason="refused", next_probe=probe
    )
    assert _note_of(row).startswith(says)


def test_since_when_it_is_paused_is_shown_as_the_clock_is(
    rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody had set the clock on by a day: the store keeps ledger time."""
    asyncio.run(_two_jobs(tmp_path))
    with closing(sqlite3.connect(tmp_path / "t.db")) as db, db:
        db.execute("UPDATE clock_steps SET ahead = 86400000")
    began = SystemClock().now()
    with held_router(Path(rules)):
        assert run(["targets", "pause", "erp", "-f", rules], {}) == 0
    capsys.readouterr()
    assert run(["targets", "--json", "-f", rules], {}) == 0
    (row,) = json.loads(capsys.readouterr().out)
    since = datetime.fromisoformat(row["since"]).timestamp() * 1000
    assert began <= round(since) <= SystemClock().now()
