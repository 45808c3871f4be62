"""Stores that released routers wrote come to today's schema, and every row with them."""

import gzip
import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from router.model.job import Job
from router.store.sqlite import schema, upgrading
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Duplicate, Recovered, Selector
from tests.clocks import ManualClock
from tests.store_values import FAR, GENERATION, Maker, a_settlement

ALL = Selector()
KEPT = Path(__file__).parent / "released"
"""One file for each schema: see `released/making.py`."""

DIGESTS = {
    "001_ledger.sql": "60851af884d79972a8d3875184658e40058144feb784b4373be6d63234c9193a",
    "002_facts.sql": "2dd6601bf948780ae5d5d4d74b335eef348b07d0f3b4bc983be4e7ac51025a0e",
    "003_chains.sql": "b24f4b7b9de34864020d382848d89e740dbd24ec996d87e406db353795f7af99",
    "004_audit.sql": "adef8d80e5314518fc74fd13dd4ef5e805e216774c0b64009356bb094f47c508",
}
"""
Of the migrations that somebody's store may have had: a release adds those that are new, and no line
ever changes.
"""

VERSIONS = range(1, len(DIGESTS) + 1)
STATES = ("succeeded", "dead", "retryable", "running", "available", "waiting")
"""One job of each; its rule has the same name."""


def test_no_released_migration_was_changed() -> None:
    folder = Path(schema.__file__).parent / "migrations"
    files = sorted(folder.glob("*.sql"))
    found = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files[: len(DIGESTS)]}
    assert found == DIGESTS
    assert len(files) == len(schema.MIGRATIONS)


def test_there_is_a_store_of_every_released_schema() -> None:
    assert {f.name for f in KEPT.glob("schema-*")} == {f"schema-{n}.db.gz" for n in VERSIONS}


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest, path: Path) -> int:
    """A store of this schema lies at `path`."""
    number: int = request.param
    path.write_bytes(gzip.decompress((KEPT / f"schema-{number}.db.gz").read_bytes()))
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (number,)
    return number


async def jobs_of(store: SqliteStore) -> dict[str, Job]:
    return {job.rule: job for job in await store.reads.jobs(ALL)}


async def test_everything_in_it_is_there_and_goes_on(version: int, path: Path) -> None:
    store = await open_store(str(path), clock=ManualClock())
    jobs = await jobs_of(store)
    assert {name: job.state for name, job in jobs.items()} == {name: name for name in STATES}
    for name in (*STATES, "unmatched"):
        known = await store.accept(Maker(2).acceptance(name.encode(), body=b"a copy"))
        assert isinstance(known, Duplicate), name
        record = await store.reads.delivery(known.delivery)
        assert record is not None
        assert (record.delivery.body, record.duplicates) == (name.encode(), 1)
        assert record.delivery.headers == (("x-topic", "orders/paid"), ("x-odd", "\xe4\xf6"))
        assert len(record.attempts) == (name in ("succeeded", "dead", "retryable"))
    if version >= 4:  # routers before it remembered nothing
        assert await store.recall("ranges/") == {"ranges/a": ["192.0.2.0/24"]}

    mended = await store.recover(
        nodes=await store.reads.lost_nodes("new"), now=FAR, on_interrupt_dead=frozenset()
    )
    assert mended == Recovered(1, 0)
    assert await store.hold(frozenset(), generation=GENERATION) == 1, "its rule is paused no more"
    assert await store.revive(Selector(state="dead"), now=FAR) == 1
    batch = await store.lease({"erp": 9}, lease="new/1", now=FAR)
    assert {leased.job.rule for leased in batch.jobs} == {*STATES} - {"succeeded"}
    assert all([await store.settle(a_settlement(leased.job)) for leased in batch.jobs])
    assert {job.state for job in (await jobs_of(store)).values()} == {"succeeded"}
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_its_tables_are_those_of_a_new_one(version: int, path: Path) -> None:
    step = upgrading.upgrade(path)
    assert step == upgrading.MigrationStep(version, len(schema.NAMES), schema.NAMES[version:])
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(":memory:")) as new:
        new.isolation_level = None
        schema.migrate(new)
        tables = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
        assert old.execute(tables).fetchall() == new.execute(tables).fetchall()
