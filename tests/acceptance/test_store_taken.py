"""The store's files are taken away from the running router: it says so, and ends."""

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import ledger
from tests.acceptance.conftest import Send
from tests.acceptance.process import PATIENCE_S, Rig, RouterProcess
from tests.acceptance.senders import code, environ, shop
from tests.acceptance.test_operate import called
from tests.faults.kill import RULES, Client
from tests.ledger import STATE

pytestmark = pytest.mark.long

CONNECTIONS = 4
ENOUGH = 20
"""Deliveries acknowledged before anything is taken away."""
LONG = (
    "  - {id: long, from: shop, actions: {shell: {argv: [sh, -c, 'echo $$ > PID; sleep 600']}}}\n"
)


class Apart(Rig):
    """The store has a folder of its own."""

    @property
    def store(self) -> Path:
        return self.folder / "store" / "router.db"

    @property
    def pid(self) -> Path:
        return self.folder / "pid"

    def head(self) -> str:
        self.store.parent.mkdir(exist_ok=True)
        return super().head().replace("sqlite:router.db", "sqlite:store/router.db")

    def old(self, suffix: str = "") -> Path:
        """Another name of a file that the router has opened."""
        return self.folder / "old" / f"router.db{suffix}"


@pytest.fixture
def rig(tmp_path: Path) -> Apart:
    folder = tmp_path / "router"
    return Apart(folder, RULES + LONG.replace("PID", str(folder / "pid")), environ())


@dataclass
class Watchful(Client):
    """Knows of each answer whether it was asked for after the store had been taken away."""

    taken: bool = False
    late: list[int] = field(default_factory=list)

    async def send(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        taken = self.taken
        await super().send(number, reader, writer)
        if taken and ledger.digest(self.sender.body(number, 1_000)) in self.acked.values():
            self.late.append(number)


def copy_of(store: Path, into: Path) -> None:
    """All that is committed, in one file."""
    with closing(ledger.connect(store)) as db, closing(sqlite3.connect(into)) as copy:
        db.backup(copy)


def remove_all(rig: Apart) -> None:
    for file in list(rig.store.parent.iterdir()):
        file.unlink()


def remove_the_journal(rig: Apart) -> None:
    Path(f"{rig.store}-wal").unlink()


def rename_another_in_its_place(rig: Apart) -> None:
    copy_of(rig.store, rig.folder / "other.db")
    (rig.folder / "other.db").replace(rig.store)


def restore_over_it(rig: Apart) -> None:
    """As if by hand: the lock is removed with all the rest, then a backup takes the place."""
    copy_of(rig.store, rig.folder / "other.db")
    remove_all(rig)
    shutil.copy(rig.folder / "other.db", rig.store)


def rename_the_folder(rig: Apart) -> None:
    rig.store.parent.rename(rig.folder / "elsewhere")


async def under_load(rig: Apart, client: Watchful, take: Callable[[Apart], None]) -> None:
    """Deliveries without pause; after some of them the store is taken away."""
    sending = [asyncio.create_task(client.keep_sending()) for _ in range(CONNECTIONS)]
    while len(client.acked) < ENOUGH:  # noqa: ASYNC110 - it is the router that answers
        await asyncio.sleep(0.01)
    await asyncio.to_thread(take, rig)
    client.taken = True
    await asyncio.gather(*sending)  # they end with the router


def keep(rig: Apart) -> None:
    """Give the files a second name, to look at them when the first is gone."""
    rig.old().parent.mkdir()
    for suffix in ("", "-wal"):
        rig.old(suffix).hardlink_to(f"{rig.store}{suffix}")


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def begun(rig: Apart, send: Send, router: RouterProcess) -> int:
    """An action that takes long is running: its process."""
    assert send(rig, shop(), 1).status_code == 200
    router.until(lambda: rig.pid.exists() and rig.pid.read_text().endswith("\n"), "the action")
    return int(rig.pid.read_text())


@pytest.mark.parametrize(
    "take",
    [
        remove_all,
        remove_the_journal,
        rename_another_in_its_place,
        restore_over_it,
        rename_the_folder,
    ],
)
async def test_under_load_it_ends_and_acknowledges_nothing_that_nobody_will_find(
    rig: Apart, send: Send, take: Callable[[Apart], None]
) -> None:
    with rig.router() as router:
        action = begun(rig, send, router)
        keep(rig)
        client = Watchful(rig.listen, code(), time.time_ns() // 1_000_000)
        async with asyncio.timeout(PATIENCE_S):
            await under_load(rig, client, take)
        assert router.ended(within=30) == 1, router.output()
        said = router.output()
    assert "the store is gone: " in said
    assert "Traceback" not in said
    assert client.refused == []
    assert client.late == []
    assert not runs(action)
    with closing(ledger.connect(rig.old(), mend=True)) as db:
        assert ledger.corruption(db) == []
        stored = ledger.stored(db)
        left = db.execute("SELECT state, n FROM jobs WHERE rule = 'long'").fetchall()
        ended = db.execute("SELECT job FROM attempts").fetchall()
    assert {i: stored.get(i) for i in client.acked} == client.acked
    assert [state for state, _ in left] == [STATE["running"]]
    assert (left[0][1],) not in ended, "settled"


def test_at_rest_it_ends_too(rig: Apart) -> None:
    """Nobody sends, nobody asks."""
    with rig.router() as router:
        remove_all(rig)
        assert router.ended(within=30) == 1, router.output()
        assert "was taken away while the router ran" in router.output()
    with rig.router() as router:
        assert router.stop() == 0, "it begins anew"


def test_who_asks_whether_it_is_ready_hears_that_it_is_not(rig: Apart) -> None:
    with rig.router() as router:
        remove_all(rig)
        assert not router.ready()
        assert router.ended(within=30) == 1


@pytest.mark.parametrize("command", ["serve", "restore"])
def test_without_the_lock_file_it_goes_on_and_nobody_else_begins(
    rig: Apart, send: Send, command: str
) -> None:
    lock = Path(f"{rig.store}.lock")
    with rig.router() as router:
        copy_of(rig.store, rig.folder / "copy.db")
        lock.unlink()
        if command == "serve":
            refused = called(rig, "serve", str(rig.path))
        else:
            refused = called(rig, "store", "restore", str(rig.folder / "copy.db"), "--yes")
        assert (refused[0], "in use by another router" in refused[2]) == (1, True), refused
        router.until(lambda: lock.exists() and holder(lock) == [b"%d" % pid(router)], "its lock")
        assert send(rig, code(), 1).status_code == 200
        assert router.stop() == 0, router.output()
    assert ledger.counts(rig.store).deliveries == 1


def holder(lock: Path) -> list[bytes]:
    """The process named in the lock file, once it is; what else the file holds lies behind."""
    return lock.read_bytes()[:32].split()


def pid(router: RouterProcess) -> int:
    assert router.process is not None
    return router.process.pid
