"""`router store info` of a PostgreSQL database."""

import asyncio
import json
import re

import msgspec
import pytest

from router.cli.database_info import show_database
from router.cli.doctor_database import of_clock, of_database, of_settings
from router.clock import SystemClock
from router.model.store_address import DatabaseUrl, PostgresDatabase, SqliteFile
from router.store.postgres.store import open_store
from router.store.values import DatabaseAbout, Standby
from router.wiring.stores import about_database
from tests.conformance.fleet import a_card
from tests.store_values import Maker


@pytest.fixture
def address(empty_postgres: str) -> PostgresDatabase:
    """Of a store with an open job and two nodes that have other rules, one of them gone."""

    async def fill() -> None:
        store = await open_store(empty_postgres, clock=SystemClock())
        await store.accept(Maker().acceptance())
        one = await store.join(a_card("one"))
        await store.beat(one, a_card("one"))
        two = await store.join(a_card("two", generation="1" * 16, admin="http://10.0.0.2:8001"))
        await store.declare_gone(two, 0)
        await store.close()

    asyncio.run(fill())
    return PostgresDatabase(DatabaseUrl(empty_postgres))


def test_it_says_how_the_database_is_and_who_shares_it(
    address: PostgresDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    show_database(address, as_json=False)
    out, err = capsys.readouterr()
    lines = [line.split(None, 1) for line in out.splitlines()]
    said = {name: value for name, value in lines if name != "node"}
    assert list(said) == ["store", "database", "size", "schema", "queue", "oldest", "standbys"]
    assert said["database"].startswith("PostgreSQL ")
    assert re.search(r"partitions of \d+ days$", said["size"])
    assert said["queue"].startswith("1 open jobs, ")
    assert said["standbys"] == "none"
    one, two = (value for name, value in lines if name == "node")
    assert one.startswith("one #")
    assert "rules 000000000000, version 1.0, no admin address" in one
    assert ": gone, beat " in two
    assert two.endswith("http://10.0.0.2:8001")
    assert "same rules" not in err, "who is gone routes by none"


def test_its_json_has_all_of_it(
    address: PostgresDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    show_database(address, as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert set(said) == set(DatabaseAbout.__struct_fields__)
    assert [one["card"]["name"] for one in said["nodes"]] == ["one", "two"]


def test_what_may_lose_deliveries_is_named(address: PostgresDatabase) -> None:
    found = asyncio.run(about_database(address))
    safe = msgspec.structs.replace(found, fsync=True, synchronous_commit="on")
    assert safe.risks() == ()
    late, prompt = Standby("late", "streaming", "async"), Standby("now", "streaming", "quorum")
    for changes, word in (
        ({"fsync": False}, "fsync"),
        ({"synchronous_commit": "off"}, "synchronous_commit"),
        ({"standbys": (late,)}, "standby"),
    ):
        risky = msgspec.structs.replace(safe, **changes)
        (check,) = of_settings(risky)
        assert check.verdict == "problem"
        assert word in check.says
    assert msgspec.structs.replace(safe, standbys=(late, prompt)).risks() == ()
    (fine,) = of_settings(safe)
    assert fine.verdict == "ok"


def test_doctor_asks_the_database(address: PostgresDatabase) -> None:
    checks = list(of_database(address))
    assert {check.name for check in checks} == {"database", "database time"}
    assert checks[-1].verdict == "ok"
    assert list(of_database(SqliteFile("router.db"))) == []


@pytest.mark.parametrize(("ahead", "verdict"), [(-2_000, "ok"), (2_001, "problem")])
def test_a_clock_that_is_far_off_is_a_problem(ahead: int, verdict: str) -> None:
    assert of_clock(ahead).verdict == verdict
