"""Today's program opens what an earlier one left: it reads it, goes on, and knows what came."""

import gzip
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from router.store.postgres.schema import VERSION as POSTGRES
from router.store.sqlite import schema
from tests import ledger
from tests.acceptance.process import Rig
from tests.acceptance.senders import code
from tests.acceptance.sink import Sink
from tests.postgres.server import Server
from tests.stores.making import asked, sent
from tests.stores.traffic import ENVIRON, MATCHED, NEW, SERVER, rules

HERE = Path(__file__).parent
FILE = HERE / f"sqlite-{schema.VERSION:03}.db.gz"
DATABASE = HERE / f"postgres-{POSTGRES:03}.sql.gz"
CANCELLED = {"succeeded": 1, "dead": 1, "cancelled": 1}


def test_a_file_of_before_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    """So nothing of the schema was changed after a program had made a store by it."""
    store = tmp_path / "router.db"
    store.write_bytes(gzip.decompress(FILE.read_bytes()))
    with closing(sqlite3.connect(store)) as old, closing(sqlite3.connect(":memory:")) as new:
        new.isolation_level = None
        schema.make(new)
        assert shape(old) == shape(new)


def shape(db: sqlite3.Connection) -> dict[str, str]:
    """What makes each table and index, without comments and spaces."""
    made = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {name: re.sub(r"--.*|\s+", "", sql) for name, sql in made}


@pytest.fixture
def sink() -> Any:
    with Sink() as sink:
        yield sink


def laid_out(folder: Path, sink: Sink, **environ: str) -> Rig:
    text = rules(mode="live", url=sink.url)
    return Rig(folder, text, {**ENVIRON, **environ}, server=SERVER)


@pytest.mark.long
def test_a_file(tmp_path: Path, sink: Sink) -> None:
    rig = laid_out(tmp_path, sink)
    rig.store.write_bytes(gzip.decompress(FILE.read_bytes()))
    goes_on(rig, sink)
    with closing(ledger.connect(rig.store)) as db:
        assert ledger.corruption(db) == []


@pytest.mark.long
def test_a_database(tmp_path: Path, sink: Sink, postgres_server: Server, new_database: str) -> None:
    postgres_server.restore(new_database, gzip.decompress(DATABASE.read_bytes()).decode())
    rig = laid_out(tmp_path, sink, ROUTER_STORE=postgres_server.address(new_database))
    goes_on(rig, sink)


def goes_on(rig: Rig, sink: Sink) -> None:
    """It runs what was open, takes a copy for a copy and what is new for new."""
    with rig.router() as process:
        process.until(lambda: len(sink.received) == 1, "the job that waited")
        process.until(lambda: jobs(rig) == [{}, CANCELLED, {"succeeded": 2, "dead": 1}], "its end")
        answers = [sent(rig, code(), number)["status"] for number in (*MATCHED, NEW)]
        assert answers == ["duplicate", "duplicate", "accepted"]
        process.until(lambda: len(sink.received) == 2, "the job of the new one")
        is_readable(rig)
        assert process.stop() == 0, process.output()


def jobs(rig: Rig) -> list[Any]:
    """Those of each delivery, newest first."""
    return [one["jobs"] for one in json.loads(asked(rig, "deliveries", "--json"))]


def is_readable(rig: Rig) -> None:
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
    assert "cancel" in asked(rig, "audit", "--json")
