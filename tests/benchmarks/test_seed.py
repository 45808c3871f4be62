"""Stores that are made beforehand are ones that the router could have made."""

import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks import seed
from router.clock import SystemClock
from router.model.settings import DAY_MS
from router.store.removal import Retain
from router.store.sqlite.pruning import removable
from tests import ledger


def retain() -> Retain:
    ago = SystemClock().now() - 7 * DAY_MS
    return Retain(
        succeeded_before=ago,
        unmatched_before=ago,
        dead_before=ago,
        finished_before=None,
        limit=500,
    )


def test_jobs_wait_and_those_that_ended_may_go(tmp_path: Path) -> None:
    store = tmp_path / "router.db"
    seed.jobs(store, 1_200)
    assert ledger.counts(store) == ledger.Counts(1_200, 1_200, 0, 0)
    seed.end(store, 200)
    assert ledger.counts(store) == ledger.Counts(1_200, 1_200, 200, 200)
    with closing(sqlite3.connect(store)) as db:
        assert removable(db, retain(), SystemClock().now()) == (200, 0)
        assert ledger.corruption(db) == []
        assert ledger.odd_jobs(db, 1) == []
