"""The operator's small writes on a PostgreSQL server, where others write the same at once."""

import asyncio

import pytest

from router.errors import StoreUnavailable
from router.model.operations import Audit
from router.model.target import Pause
from router.store.common.states import AVAILABLE, RETRYABLE, RUNNING, WAITING
from router.store.postgres import audit_log, holding, in_force, operations
from router.store.postgres.database import Database, Tx
from router.store.values import AUDIT_LINES, Generation, RuleCount
from tests.clocks import START_MS
from tests.store_values import GENERATION, Maker
from tests.unit.store.postgres.at_once import uncommitted
from tests.unit.store.postgres.ledger import add_delivery, add_open_job

NOBODY: frozenset[str] = frozenset()


async def test_a_line_of_the_audit_is_found_as_it_was_noted(db: Database) -> None:
    given = Audit("a1", START_MS, "o\x00o\ue000", "cancel", {"rule": "x"}, 2, "p\x00", "api")
    await db.transact(lambda tx: audit_log.note(tx, given, 3))
    await db.transact(lambda tx: audit_log.note(tx, given, 4))
    await db.transact(lambda tx: audit_log.count_up(tx, "a1", 1))
    await db.transact(lambda tx: audit_log.count_up(tx, "none", 1))
    assert await db.ask(lambda tx: audit_log.lines(tx, None, None, 9)) == (
        Audit(
            "a1", START_MS, "o\x00o\ue000", "cancel", {"rule": "x"}, 2 + 3 + 4 + 1, "p\x00", "api"
        ),
    )


async def test_lines_of_the_audit_go_by_age_and_by_number(db: Database) -> None:
    for n in range(4):
        line = Audit(f"a{n}", START_MS + n, "who", "verb", {})
        await db.transact(lambda tx, line=line: audit_log.note(tx, line))

    async def left() -> list[str]:
        return [line.id for line in await db.ask(lambda tx: audit_log.lines(tx, None, None, 9))]

    await db.transact(lambda tx: audit_log.prune(tx, START_MS + 1))
    assert await left() == ["a3", "a2", "a1"]
    await db.transact(
        lambda tx: tx.run(
            "INSERT INTO audit OVERRIDING SYSTEM VALUE SELECT n + $1, 'new', at, who, peer, verb, "
            "asked, count FROM audit WHERE id = 'a3'",
            AUDIT_LINES - 1,
        )
    )
    await db.transact(lambda tx: audit_log.prune(tx, START_MS))
    assert await left() == ["new", "a3"]


async def test_facts_given_together_are_kept_or_forgotten(db: Database) -> None:
    async def facts() -> dict[str, bytes]:
        rows = await db.ask(lambda tx: tx.all("SELECT name, value FROM facts"))
        return dict(tuple(row) for row in rows)

    await db.transact(lambda tx: operations.remember(tx, {"b": 1, "a": {"x": None}}))
    await db.transact(lambda tx: operations.remember(tx, {"b": None, "c": [2], "d": None}))
    assert await facts() == {"a": b'{"x":null}', "c": b"[2]"}


async def test_counts_of_several_routers_add_up(db: Database) -> None:
    counts = [RuleCount(f"r{n % 3}", 5, 4, 3, 2, START_MS + n, None) for n in range(3)]
    later = [RuleCount("r1", 1, 1, 1, 1, START_MS, START_MS + 9), counts[2]]
    await asyncio.gather(
        *[
            db.transact(lambda tx, given=given: operations.count_rules(tx, given))
            for given in (counts, counts[::-1], later, counts, later[::-1])
        ]
    )
    rows = await db.ask(lambda tx: tx.all("SELECT * FROM rule_counts ORDER BY rule"))
    assert [tuple(row) for row in rows] == [
        ("r0", 15, 12, 9, 6, START_MS, None),
        ("r1", 17, 14, 11, 8, START_MS, START_MS + 9),
        ("r2", 25, 20, 15, 10, START_MS + 2, None),
    ]


async def test_a_store_that_only_reads_is_not_ready(db: Database) -> None:
    await db.transact(operations.beat)

    async def beat_on_a_standby(tx: Tx) -> None:
        await tx.run("SET TRANSACTION READ ONLY")
        await operations.beat(tx)

    with pytest.raises(StoreUnavailable):
        await db.transact(beat_on_a_standby)


async def test_a_generation_s_text_is_kept_once(db: Database) -> None:
    for text in ("first", "other"):
        kept = Generation("g", text, {"a": 1}, START_MS)
        await db.transact(lambda tx, kept=kept: operations.keep_generation(tx, kept))
    rows = await db.ask(lambda tx: tx.all("SELECT id, text, context FROM generations"))
    assert [tuple(row) for row in rows] == [("g", "first", b'{"a":1}')]


# Two routers at once


async def test_two_routers_that_start_at_once_are_in_force_one_after_the_other(
    db: Database,
) -> None:
    async def start(by: str) -> None:
        await db.transact(lambda tx: in_force.put_in_force(tx, f"of {by}", by=by, at=START_MS))

    await asyncio.gather(start("a"), start("b"))
    newest = await db.ask(in_force.newest)
    assert newest is not None
    assert newest.seq == 2


async def queued(db: Database) -> list[tuple[int, int, int]]:
    """State, waits and due time of each job, in their order."""
    rows = await db.ask(lambda tx: tx.all("SELECT state, waits, due_at FROM queue ORDER BY job"))
    return [tuple(row) for row in rows]


async def test_two_routers_hold_and_release_each_job_once(db: Database, make: Maker) -> None:
    delivery, count = make.delivery().id, 300

    async def fill(tx: Tx) -> None:
        await add_delivery(tx, delivery)
        for n in range(count):
            await add_open_job(tx, delivery, make.job().id, attempt=n % 2)

    async def hold(rules: frozenset[str]) -> int:
        return await db.transact(
            lambda tx: holding.hold(tx, rules, generation=GENERATION, now=START_MS + 5)
        )

    await db.transact(fill)
    assert sum(await asyncio.gather(*[hold(frozenset({"paid"})) for _ in range(4)])) == count
    assert await queued(db) == [(WAITING, 4, START_MS)] * count
    assert sum(await asyncio.gather(*[hold(NOBODY) for _ in range(4)])) == count
    assert await queued(db) == [
        (RETRYABLE if n % 2 else AVAILABLE, 0, START_MS + 5) for n in range(count)
    ]


async def test_a_job_that_another_changes_just_now_is_held_by_the_next_upkeep(
    db: Database, make: Maker
) -> None:
    """Who waits for a job that is being settled, and has others, may be waited for."""
    delivery, jobs = make.delivery().id, sorted(make.job().id for _ in range(3))

    async def fill(tx: Tx) -> None:
        await add_delivery(tx, delivery)
        await add_open_job(tx, delivery, *jobs)

    async def hold(rules: frozenset[str]) -> int:
        return await db.transact(
            lambda tx: holding.hold(tx, rules, generation=GENERATION, now=START_MS)
        )

    async def change(tx: Tx) -> None:
        await tx.run("SELECT FROM queue WHERE job = $1 FOR UPDATE", jobs[1])

    await db.transact(fill)
    for rules in (frozenset({"paid"}), NOBODY):
        async with uncommitted(db, change):
            assert await hold(rules) == 2
        assert await hold(rules) == 1


async def test_a_job_that_waits_for_more_waits_on(db: Database, make: Maker) -> None:
    delivery = make.delivery().id

    async def fill(tx: Tx) -> None:
        await add_delivery(tx, delivery)
        await add_open_job(tx, delivery, make.job().id, state=WAITING, waits=2)
        await add_open_job(tx, delivery, make.job().id, state=RUNNING, lease="1/1")

    async def hold(rules: frozenset[str]) -> int:
        return await db.transact(
            lambda tx: holding.hold(tx, rules, generation=GENERATION, now=START_MS)
        )

    await db.transact(fill)
    why = Pause("they migrate", "ann", START_MS)
    paused = await asyncio.gather(
        *[db.transact(lambda tx: holding.pause(tx, "erp", why)) for _ in range(3)]
    )
    assert sorted(paused) == [0, 0, 1]
    assert await hold(frozenset({"paid"})) == 1
    assert (await queued(db))[0] == (WAITING, 2 + 4 + 8, START_MS)
    assert await hold(NOBODY) == 1
    assert await db.transact(lambda tx: holding.resume(tx, "erp", START_MS)) == 1
    assert await queued(db) == [(WAITING, 2, START_MS), (RUNNING, 0, START_MS)]
