"""`router store info` of a PostgreSQL database, and what `router doctor` finds there."""

import asyncio
import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from router.cli.database_info import show_database
from router.cli.doctor_online import of_database, of_room, of_settings, of_time
from router.clock import SystemClock
from router.model.share import Shares, TargetShare
from router.model.store_address import DatabaseUrl, PostgresDatabase, SqliteFile
from router.store.database_about import DatabaseAbout, DatabaseSettings, Standby
from router.store.postgres.store import open_store
from router.store.values import NodeSeen
from router.wiring.stores import about_database
from tests.builders import NOW
from tests.conformance.fleet import a_card
from tests.postgres.server import USER, Server
from tests.store_values import FAR, Maker, lease_one


@pytest.fixture
def address(empty_postgres: str) -> PostgresDatabase:
    """Of a store with two open jobs and two nodes that have other rules, one of them gone."""

    async def fill() -> None:
        store, make = await open_store(empty_postgres, clock=SystemClock()), Maker()
        await store.accept(make.acceptance())
        await store.accept(make.acceptance())
        one = await store.join(a_card("one"))
        await lease_one(store, lease=f"{one}/1", now=FAR)
        card = a_card("one", skew_ms=-2_500, unready="its clock is off")
        shares = Shares(1, {"erp": TargetShare(4, 0.5)})
        await store.divide(
            one,
            lambda rows: [replace(row, shares=shares) for row in rows],
            generation=card.generation,
            ttl_ms=1_000,
        )
        await store.beat(one, card)
        two = await store.join(a_card("two", generation="1" * 16))
        await store.declare_gone(two, 0)
        await store.close()

    asyncio.run(fill())
    return PostgresDatabase(DatabaseUrl(empty_postgres))


@pytest.mark.long
def test_it_says_how_the_database_is_and_who_shares_it(
    address: PostgresDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    show_database(address, as_json=False)
    out, err = capsys.readouterr()
    lines = [(line[:12].strip(), line[12:].strip()) for line in out.splitlines()]
    said = dict(lines)
    assert [name for name, _ in lines] == [
        "store", "database", "size", "partitions", "schema", "queue", "feed", "oldest xmin",
        "connections", "standby", "node", "", "", "node",
    ]  # fmt: skip
    assert said["database"].startswith("PostgreSQL ")
    assert re.search(
        r"[KM]iB: attempts .* [KM]iB, deliveries .* [KM]iB, jobs .* [KM]iB$", said["size"]
    )
    assert re.fullmatch(r"\d+ days since 20\d\d-\d\d-\d\d", said["partitions"])
    assert said["queue"].startswith("2 open jobs, ")
    assert re.fullmatch(r".* behind, \d+ transactions", said["feed"])
    assert re.match(r"\d+ transactions behind", said["oldest xmin"])
    assert re.fullmatch(r"\d+ of 97, \d+ of them routers'", said["connections"])
    assert said["standby"] == "none"
    one, unready, share, two = (value for _, value in lines[-4:])
    assert one.startswith("one #")
    assert "clock -2.5 s, rules 000000000000, version 1.0, 1 running" in one
    assert unready == "not ready: its clock is off"
    assert share == "erp: 1 of 4, 0.5 a second"
    assert ": gone, beat " in two
    assert "same rules" not in err, "who is gone routes by none"


def test_its_json_has_all_of_it(
    address: PostgresDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    show_database(address, as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert set(said) == set(DatabaseAbout.__struct_fields__) - {"loads"}
    assert [one["name"] for one in said["nodes"]] == ["one", "two"]
    (share,) = said["nodes"][0]["shares"]
    assert share == {"target": "erp", "concurrency": 4, "rate": 0.5, "running": 1}
    assert said["oldest_day_at"].endswith("T00:00:00.000Z")


SAFE = DatabaseSettings(
    "15.1",
    fsync=True,
    full_page_writes=True,
    synchronous_commit="on",
    synchronous_standbys="",
    autovacuum=True,
    connections=97,
)
ABOUT = DatabaseAbout(
    SAFE, 1, NOW, 0, {}, 9, 0, 0, 0, 0, 0, 0, None, 20, 15, False, (), (), {}
)  # fmt: skip
LATE, PROMPT = Standby("late", "streaming", "async"), Standby("now", "streaming", "quorum")
HIDDEN = Standby("hidden", None, None)


@pytest.mark.parametrize(
    ("settings", "standbys", "word"),
    [
        ({"fsync": False}, (), "fsync"),
        ({"full_page_writes": False}, (), "full_page_writes"),
        ({"synchronous_commit": "off"}, (), "synchronous_commit"),
        ({"autovacuum": False}, (), "autovacuum"),
        ({}, (LATE,), "standby"),
        ({}, (HIDDEN,), "standby"),
        ({"synchronous_standbys": "*"}, (LATE,), "standby"),
        ({"synchronous_standbys": "*", "synchronous_commit": "local"}, (PROMPT,), "standby"),
    ],
)
def test_what_may_lose_deliveries_or_slow_them_down_is_named(
    settings: dict[str, Any], standbys: tuple[Standby, ...], word: str
) -> None:
    risky = replace(ABOUT, settings=replace(SAFE, **settings), standbys=standbys)
    (bad,) = [check for check in of_settings(risky) if check.verdict == "problem"]
    assert word in bad.says


@pytest.mark.parametrize("standbys", [(), (LATE, PROMPT), (HIDDEN,)])
def test_a_database_that_keeps_what_it_acknowledges(standbys: tuple[Standby, ...]) -> None:
    """What our role may not see of a standby is no reason to warn."""
    safe = replace(ABOUT, settings=replace(SAFE, synchronous_standbys="*"), standbys=standbys)
    assert [check.verdict for check in of_settings(safe)] == ["ok"]


def nodes(*cards: Any) -> tuple[NodeSeen, ...]:
    return tuple(NodeSeen(str(n), card, 1, NOW) for n, card in enumerate(cards))


@pytest.mark.parametrize(
    ("ahead", "skews", "wrong"),
    [
        (-2_000, (2_000,), []),
        (2_001, (0,), ["this machine is +2.0 s"]),
        (0, (0, -7_000), ["node n1 is -7.0 s"]),
    ],
)
def test_a_clock_that_is_far_off_is_a_problem(
    ahead: int, skews: tuple[int, ...], wrong: list[str]
) -> None:
    cards = [a_card(f"n{n}", skew_ms=skew) for n, skew in enumerate(skews)]
    gone = replace(nodes(a_card("gone", skew_ms=9_000))[0], gone=True)
    checks = list(of_time(replace(ABOUT, nodes=(*nodes(*cards), gone)), NOW + ahead))
    found = [check.says for check in checks if check.verdict == "problem"]
    assert [says[: len(part)] for says, part in zip(found, wrong, strict=True)] == wrong
    assert bool(found) != (checks[-1].verdict == "ok")


@pytest.mark.parametrize(("living", "verdict"), [(0, "ok"), (14, "ok"), (15, "problem")])
def test_connections_must_do_for_one_router_more(living: int, verdict: str) -> None:
    """97 in all, 5 of others, 6 for each: there is room for 15 routers, and none more."""
    check = of_room(replace(ABOUT, nodes=nodes(*[a_card()] * living)), 6)
    assert check.verdict == verdict


def test_doctor_asks_the_database(address: PostgresDatabase) -> None:
    checks = list(of_database(address))
    assert {check.name for check in checks} == {"database", "database time", "connections"}
    assert checks[-1].verdict == "ok"
    assert list(of_database(SqliteFile("router.db"))) == []


NUMBERED = "SELECT pg_current_xact_id()"


@pytest.mark.parametrize("user", [USER, "postgres"])
def test_what_holds_the_feed_and_vacuums_back_is_told(
    address: PostgresDatabase, postgres: str, postgres_server: Server, worker_id: str, user: str
) -> None:
    """When it began is known to a role that may see it: one of another role, to the superuser."""
    theirs = postgres_server.address(worker_id, user="postgres")
    asker = postgres_server.address(worker_id, user=user)

    async def found() -> DatabaseAbout:
        import asyncpg  # noqa: PLC0415 - a driver that few tests need

        other = await asyncpg.connect(theirs, server_settings={"application_name": "a report"})
        try:
            async with other.transaction(isolation="repeatable_read"):
                await other.execute(NUMBERED)
                async with asyncpg.create_pool(postgres, min_size=1, max_size=1) as later:
                    await later.execute(NUMBERED)
                return await about_database(PostgresDatabase(DatabaseUrl(asker)))
        finally:
            await other.close()

    told = asyncio.run(found())
    assert told.feed_behind >= 1
    assert (told.horizon_ms is not None) == told.sees_all == (user == "postgres")
    if told.sees_all:
        assert told.oldest_xmin_of is not None
        assert re.fullmatch(r"session \d+ \(a report\)", told.oldest_xmin_of)
