"""A job that three deaths in a row have ended is no problem of a harness; after two it is one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from router.store.sqlite.store import open_store
from router.store.values import Recovered
from tests import ledger
from tests.clocks import ManualClock
from tests.faults.kill import odd_ends
from tests.store_values import FAR, Maker

pytestmark = pytest.mark.long

NOBODY: frozenset[tuple[str, str]] = frozenset()


async def test_a_third_death_is_an_end_and_a_second_is_none(tmp_path: Path) -> None:
    path, make = tmp_path / "router.db", Maker()
    store = await open_store(str(path), clock=ManualClock())
    await store.accept(make.acceptance())
    for boot in range(3):
        await store.lease({"erp": 1}, lease=f"{boot}/1", now=2 * FAR)
        mended = await store.recover(
            nodes=await store.reads.lost_nodes("none"), now=FAR, on_interrupt_dead=NOBODY
        )
    assert mended == Recovered(0, 1)
    await store.close()
    assert (odd_ends(path), ledger.killed_thrice(path)) == ([], 1)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM attempts WHERE number = 2")
    assert ledger.killed_thrice(path) == 0
    assert "crash_loop" in odd_ends(path)[0]
