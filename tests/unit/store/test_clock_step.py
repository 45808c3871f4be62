"""Ledger time in the file: over a restart, out of an older store, spoilt by a disk."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from router.clock import SteadyClock
from router.errors import StoreUnavailable
from router.model.operations import Audit
from router.store.removal import Retain
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import START_MS, SetClock
from tests.store_values import Maker

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
