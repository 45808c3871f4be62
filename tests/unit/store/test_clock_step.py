"""Ledger time in the file: over a restart, out of an older store, spoilt by a disk."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from router.clock import SteadyClock
from router.errors import StoreUnavailable
from router.model.operations import Audit
from router.model.target import FACT
from router.store.removal import Retain
from router.store.sqlite import schema
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import START_MS, SetClock
from tests.store_values import Maker, a_settlement

DAY_MS = 86_400_000


class Machine:
    """A machine's clock that can be set, and a store on it that can be closed and opened."""

    def __init__(self, folder: Path) -> None:
        self.path, self.source = folder / "router.db", SetClock()

    async def opened(self) -> SqliteStore:
        self.clock = SteadyClock(self.source, self.source.nanoseconds)
        return await open_store(str(self.path), clock=self.clock)

    def execute(self, sql: str) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute(sql)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def due(store: SqliteStore) -> list[int]:
    return sorted(job.due_at - START_MS for job in await store.reads.jobs(Selector()))


@pytest.mark.parametrize("days", [3650, 1, -1])
async def test_ledger_time_goes_on_over_a_restart(machine: Machine, days: int) -> None:
    store = await machine.opened()
    await store.accept(Maker().acceptance())
    machine.source.set(days * DAY_MS)
    machine.clock.step(machine.clock.drift())
    await store.keep_clock()
    await store.close()
    await machine.source.advance(7)
    store = await machine.opened()
    assert machine.clock.ledger() == START_MS + 7_000
    assert machine.clock.now() == START_MS + 7_000 + days * DAY_MS
    assert await due(store) == [days * DAY_MS]
    assert await store.reads.targets() == {"erp": START_MS}
    await store.close()


@pytest.mark.parametrize("ms", [-DAY_MS, -START_MS, -1])
async def test_it_never_begins_before_the_time_last_seen(machine: Machine, ms: int) -> None:
    store = await machine.opened()
    await machine.source.advance(60)
    await store.keep_clock()
    await store.close()
    machine.source.set(ms)
    store = await machine.opened()
    assert machine.clock.ledger() == START_MS + 60_000
    assert machine.clock.now() == START_MS + 60_000 + ms
    assert await store.keep_clock() == ms
    await store.close()


async def test_it_goes_on_with_a_clock_that_was_set_on_while_nobody_looked(
    machine: Machine,
) -> None:
    """Nobody can tell that from a router that was down."""
    store = await machine.opened()
    await store.keep_clock()
    await store.close()
    machine.source.set(DAY_MS)
    store = await machine.opened()
    assert machine.clock.ledger() == machine.clock.now() == START_MS + DAY_MS
    assert await store.keep_clock() == 0
    await store.close()


@pytest.mark.parametrize("value", ["x'ff'", "'x'", "'[]'", "CAST(x'ff' AS TEXT)"])
async def test_a_spoilt_time_last_seen_is_noted_anew(machine: Machine, value: str) -> None:
    store = await machine.opened()
    await store.keep_clock()
    await store.close()
    machine.execute(f"UPDATE facts SET value = {value} WHERE name = 'clock/seen'")  # noqa: S608
    machine.source.set(-DAY_MS)
    store = await machine.opened()
    assert machine.clock.ledger() == START_MS - DAY_MS
    await store.keep_clock()
    assert await store.recall("clock") == {"clock/seen": START_MS - DAY_MS}
    await store.close()


async def test_a_step_that_cannot_be_written_is_written_the_next_time(machine: Machine) -> None:
    store = await machine.opened()
    machine.clock.step(1 << 70)
    with pytest.raises(StoreUnavailable):
        await store.keep_clock()
    machine.clock.step(DAY_MS - (1 << 70))
    assert await store.keep_clock() == DAY_MS
    await store.close()


async def test_jobs_are_recorded_as_made_by_the_clock_that_people_read(machine: Machine) -> None:
    store, make = await machine.opened(), Maker()
    machine.clock.step(DAY_MS)
    acceptance = make.acceptance()
    await store.accept(acceptance)
    await store.add(acceptance.delivery.id, [make.job()])
    made = [job.created_at - START_MS for job in await store.reads.jobs(Selector())]
    assert made == [DAY_MS] * 2
    await store.close()


async def test_lines_of_the_audit_are_kept_by_ledger_time(machine: Machine) -> None:
    store = await machine.opened()
    for name in ("aud_1", "aud_2"):
        await store.note(Audit(name, machine.clock.now(), "me", "reload", {}))
        machine.clock.step(3650 * DAY_MS)
        await store.keep_clock()
    for before, left in ((START_MS, 2), (START_MS + 1, 0)):
        retain = Retain(0, 0, 0, audit_before=before)
        await store.prune(retain, now=machine.clock.ledger())
        assert len(await store.reads.audited(None, None, 10)) == left
    await store.close()


async def _of_before(machine: Machine, set_by: int) -> None:
    """A store as version 5 left it, whose clock had been set: due times were wall time."""
    store, make = await machine.opened(), Maker()
    await store.accept(make.acceptance())
    [leased] = (await store.lease({"erp": 1}, lease="b.1", now=START_MS)).jobs
    await store.settle(a_settlement(leased.job))
    for state in ("available", "waiting"):
        await store.accept(make.acceptance(jobs=[make.job(state=state)]))
    await store.remember({FACT + "erp": {"state": "open", "since": START_MS, "next_probe": 9e15}})
    await store.remember({FACT + "crm": {"failing_since": None, "recovering": True, "usual": 1.5}})
    await store.close()
    with closing(sqlite3.connect(machine.path)) as db, db:
        for later in ("clock_steps", "published", "activity", "redactions"):
            db.execute(f"DROP TABLE {later}")
        db.execute("UPDATE jobs SET due_at = due_at + ? WHERE state IN (0, 2)", (set_by,))
        db.execute("DELETE FROM facts WHERE name = 'clock/seen'")
        seen = b'{"at": %d, "boot": "b", "moved": 1}' % (START_MS + set_by)
        facts = [("clock", seen, 0), ("clock/set_by", b"%d" % set_by, 0)]
        db.executemany("INSERT INTO facts VALUES (?, ?, ?)", facts if set_by else facts[:1])
        db.execute(
            "INSERT INTO replays (id, asked, state, reached, due, deliveries, jobs, skipped, "
            "created_at) VALUES ('rpl_1', CAST('{}' AS BLOB), 0, '', ?, 0, 0, 0, 0)",
            (b'{"erp": %d.5}' % (START_MS + set_by),),
        )
        db.execute("ALTER TABLE audit DROP COLUMN way")
        db.execute("PRAGMA user_version = 5")


@pytest.mark.parametrize("set_by", [0, DAY_MS, -400 * DAY_MS])
async def test_a_store_of_before_opens_with_its_times_as_they_were(
    machine: Machine, set_by: int
) -> None:
    assert len(schema.MIGRATIONS) >= 6
    await _of_before(machine, set_by)
    machine.source.set(set_by)
    store = await machine.opened()
    assert (machine.clock.now(), machine.clock.ledger()) == (START_MS + set_by, START_MS)
    assert await store.reads.targets() == {"erp": START_MS}
    assert await due(store) == [set_by] * 3
    replay = await store.reads.replay("rpl_1")
    assert replay is not None
    assert replay.due == {"erp": START_MS + 0.5}
    facts = await store.recall(FACT)
    assert facts[FACT + "erp"]["state"] == "open"
    assert facts[FACT + "erp"]["since"] == START_MS - set_by
    assert facts[FACT + "crm"] == {"failing_since": None, "recovering": True, "usual": 1.5}
    assert await store.recall("clock") == {"clock/seen": START_MS}
    ended = START_MS + 5 - set_by  # it was recorded before the clock was set
    for before, gone in ((ended, 0), (ended + 1, 1)):
        pruned = await store.prune(Retain(before, before, before), now=START_MS)
        assert pruned.deliveries == gone
    await store.close()
