"""Today's program opens what each earlier one left: it reads it, goes on, and knows what came."""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from router.store.sqlite import schema
from tests import ledger
from tests.acceptance.process import Rig
from tests.acceptance.senders import code
from tests.acceptance.sink import Sink
from tests.faults.upgrades import expected, shape
from tests.postgres.server import Server
from tests.stores.making import asked, sent
from tests.stores.traffic import ENVIRON, MATCHED, NEW, SERVER, rules

KEPT = sorted(Path(__file__).parent.glob("*.gz"))
FILES = [kept for kept in KEPT if kept.name.startswith("sqlite")]
DATABASES = [kept for kept in KEPT if kept.name.startswith("postgres")]
NEVER = {3}
"""No program had it: the next one came with it."""
AUDITED = 4
"""The first schema with an audit."""
CANCELLED = {"succeeded": 1, "dead": 1, "cancelled": 1}


def schema_of(kept: Path) -> int:
    return int(kept.name.partition("-")[2].partition(".")[0])


def named(kept: Path) -> str:
    return kept.name.partition(".")[0]


def test_one_of_each_schema_is_kept() -> None:
    files, databases = ({schema_of(kept) for kept in some} for some in (FILES, DATABASES))
    assert files == set(range(1, max(files) + 1)) - NEVER
    assert databases == set(range(1, max(databases) + 1))


@pytest.mark.parametrize("kept", FILES, ids=named)
def test_a_migrated_file_has_the_tables_of_a_new_one(kept: Path, tmp_path: Path) -> None:
    """So no migration was changed after a program had made a store by it."""
    store = tmp_path / "router.db"
    store.write_bytes(gzip.decompress(kept.read_bytes()))
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        schema.migrate(db)
        assert shape(db) == expected(len(schema.MIGRATIONS))


@pytest.fixture
def sink() -> Any:
    with Sink() as sink:
        yield sink


def laid_out(folder: Path, sink: Sink, **environ: str) -> Rig:
    text = rules(mode="live", url=sink.url)
    return Rig(folder, text, {**ENVIRON, **environ}, server=SERVER)


@pytest.mark.long
@pytest.mark.parametrize("kept", FILES, ids=named)
def test_a_file(kept: Path, tmp_path: Path, sink: Sink) -> None:
    rig = laid_out(tmp_path, sink)
    rig.store.write_bytes(gzip.decompress(kept.read_bytes()))
    goes_on(rig, sink, audited=schema_of(kept) >= AUDITED)
    with closing(ledger.connect(rig.store)) as db:
        assert ledger.corruption(db) == []
        assert db.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)


@pytest.mark.long
@pytest.mark.parametrize("kept", DATABASES, ids=named)
def test_a_database(
    kept: Path, tmp_path: Path, sink: Sink, postgres_server: Server, new_database: str
) -> None:
    postgres_server.restore(new_database, gzip.decompress(kept.read_bytes()).decode())
    rig = laid_out(tmp_path, sink, ROUTER_STORE=postgres_server.address(new_database))
    goes_on(rig, sink, audited=True)


def goes_on(rig: Rig, sink: Sink, *, audited: bool) -> None:
    """It migrates, runs what was open, takes a copy for a copy and what is new for new."""
    with rig.router() as process:
        process.until(lambda: len(sink.received) == 1, "the job that waited")
        process.until(lambda: jobs(rig) == [{}, CANCELLED, {"succeeded": 2, "dead": 1}], "its end")
        answers = [sent(rig, code(), number)["status"] for number in (*MATCHED, NEW)]
        assert answers == ["duplicate", "duplicate", "accepted"]
        process.until(lambda: len(sink.received) == 2, "the job of the new one")
        is_readable(rig, audited=audited)
        assert process.stop() == 0, process.output()


def jobs(rig: Rig) -> list[Any]:
    """Those of each delivery, newest first."""
    return [one["jobs"] for one in json.loads(asked(rig, "deliveries", "--json"))]


def is_readable(rig: Rig, *, audited: bool) -> None:
    """Each delivery with its body, jobs, attempts and rules; and who did what."""
    new, unmatched, *matched = json.loads(asked(rig, "deliveries", "--json"))
    assert [one["events"] for one in (new, unmatched)] == [["push"], ["orders/paid"]]
    for number, one in zip(reversed(MATCHED), matched, strict=True):
        shown = json.loads(asked(rig, "show", one["id"], "--json"))
        assert json.loads(shown["delivery"]["body"])["number"] == number
        noted, failed, _ = shown["jobs"]
        assert (noted["rule"], failed["rule"]) == ("noted", "failed")
        assert "refused" in failed["reason"]
        assert shown["attempts"][0]["result"] == {"message": f"number {number}"}
        assert "noted" in asked(rig, "explain", one["id"])
    assert ("cancel" in asked(rig, "audit", "--json")) == audited
