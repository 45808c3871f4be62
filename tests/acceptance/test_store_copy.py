"""`router store copy`: killed where it stands it goes on, and ends with the same on both sides."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from router.store.postgres import schema
from router.store.postgres.receiving import UNFINISHED
from router.store.sqlite.store import open_store
from tests.acceptance.process import ROOT
from tests.clocks import ManualClock
from tests.postgres.server import Server
from tests.store_values import Maker

pytestmark = pytest.mark.long

PASSWORD = "hunter2-hunter2"


@pytest.fixture
def address(postgres_server: Server, new_database: str) -> str:
    """With a password."""
    return postgres_server.address(new_database).replace("//router@", f"//router:{PASSWORD}@")


def copying(*words: str | Path) -> subprocess.Popen[str]:
    plain = {n: os.environ[n] for n in ("PATH", "HOME", "LANG") if n in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "router", "store", "copy", *map(str, words)],
        cwd=ROOT,
        env=plain,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def reached(connection: asyncpg.Connection) -> object:
    """The step in which the copy is."""
    raw = await connection.fetchval("SELECT value FROM facts WHERE name = $1", UNFINISHED)
    return raw and json.loads(raw)["step"]


async def test_killed_in_the_middle_it_goes_on(tmp_path: Path, address: str) -> None:
    path = tmp_path / "router.db"
    store, make = await open_store(str(path), clock=ManualClock()), Maker()
    await store.accept_all([make.acceptance() for _ in range(300)])
    await store.close()

    other = await asyncpg.connect(address)
    try:
        await schema.make(other)
        holding = other.transaction()
        await holding.start()
        await other.execute("LOCK TABLE jobs IN EXCLUSIVE MODE")
        killed = copying(path, address)
        while await reached(other) != "jobs":
            assert killed.poll() is None, killed.communicate()
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        await holding.rollback()
    finally:
        await other.close()

    said = copying(path, address, "--json")
    output, errors = said.communicate()
    assert (said.returncode, errors) == (0, "")
    tables = {one["table"]: one for one in json.loads(output)["tables"]}
    assert (tables["jobs"]["copied_rows"], tables["queue"]["copied_rows"]) == (300, 300)
    assert PASSWORD not in output

    again = copying(path, address)
    output, errors = again.communicate()
    assert (again.returncode, output) == (1, "")
    assert "copied there already" in errors
    assert PASSWORD not in errors


def test_the_other_way_is_refused(tmp_path: Path, address: str) -> None:
    back = copying(address, tmp_path / "router.db")
    _, errors = back.communicate()
    assert back.returncode == 2
    assert "no way back" in errors
