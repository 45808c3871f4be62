"""Reading beside a running server, after it, and after its crash."""

import subprocess
import sys
from pathlib import Path

import pytest

from router.errors import StoreRefused
from router.store.sqlite.reader import open_reader
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import ManualClock
from tests.store_values import Maker

ALL = Selector()
CRASH = """
import asyncio, os, signal, sys
from router.store.sqlite.store import open_store
from tests.clocks import ManualClock
from tests.store_values import Maker

async def main():
    store, make = await open_store(sys.argv[1], clock=ManualClock()), Maker()
    for _ in range(20):
        print((await store.accept(make.acceptance(body=b"x" * 3000))).delivery)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_it_reads_beside_a_running_server(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    reader = open_reader(str(path))
    assert await reader.deliveries(ALL) == ()
    acceptance = make.acceptance()
    await store.accept(acceptance)
    assert await reader.deliveries(ALL) == await store.reads.deliveries(ALL)
    assert await reader.delivery(acceptance.delivery.id) == await store.reads.delivery(
        acceptance.delivery.id
    )
    assert await reader.counts() == {"paid": {"available": 1}}
    assert await reader.targets() == await store.reads.targets()
    await reader.close()


async def test_it_reads_a_stopped_store(path: Path, make: Maker) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.accept(make.acceptance())
    await store.close()
    reader = open_reader(str(path))
    assert len(await reader.jobs(ALL)) == 1
    assert await reader.size() > 0
    await reader.close()


async def test_after_a_kill_everything_acknowledged_is_read(path: Path) -> None:
    run = subprocess.run(  # noqa: ASYNC221
        [sys.executable, "-c", CRASH, str(path)],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert run.returncode == -9
    acknowledged = run.stdout.split()
    assert len(acknowledged) == 20
    reader = open_reader(str(path))
    assert {s.id for s in await reader.deliveries(ALL)} == set(acknowledged)
    await reader.close()
    store = await open_store(str(path), clock=ManualClock())
    assert {s.id for s in await store.reads.deliveries(ALL)} == set(acknowledged)
    await store.close()


def test_an_absent_store_is_named_and_not_made(path: Path) -> None:
    with pytest.raises(StoreRefused, match="there is no store at"):
        open_reader(str(path))
    assert not path.exists()


def test_what_is_not_a_store_is_refused(path: Path) -> None:
    path.write_bytes(b"notes\n" * 900)
    with pytest.raises(StoreRefused, match="damaged or not a store"):
        open_reader(str(path))


def test_an_empty_file_is_not_read_as_a_store(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreRefused, match="is empty"):
        open_reader(str(path))
