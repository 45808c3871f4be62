"""Copies of a store: whole or not at all, and what stood there before is never lost."""

import asyncio
import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from router.errors import StoreRefused, UsageError
from router.model.operations import Audit
from router.store.sqlite import schema
from router.store.sqlite.copying import backup, restore
from router.store.sqlite.outside import about
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import ManualClock
from tests.store_values import Maker

STAMP = "20261120T120000Z"


async def filled(path: Path, count: int, seed: int = 1) -> list[str]:
    """A closed store with so many deliveries; their ids."""
    store = await open_store(str(path), clock=ManualClock())
    make = Maker(seed)
    made = [make.acceptance() for _ in range(count)]
    for one in made:
        await store.accept(one)
    await store.close()
    return sorted(one.delivery.id for one in made)


async def ids(path: Path) -> list[str]:
    store = await open_store(str(path), clock=ManualClock())
    found = await store.reads.deliveries(Selector())
    await store.close()
    return sorted(one.id for one in found)


async def test_a_backup_beside_a_writer_is_one_file_of_one_moment(
    store: SqliteStore, path: Path, make: Maker, tmp_path: Path
) -> None:
    """Also what only the journal holds; readable by its owner alone, with nothing beside it."""
    before = [make.acceptance() for _ in range(20)]
    for one in before:
        await store.accept(one)
    steps: list[int] = []
    copy = tmp_path / "copies" / "router.db"
    copy.parent.mkdir()
    done = backup(path, copy, progress=lambda left, _: steps.append(left))
    await store.accept(make.acceptance())
    assert (done.path, done.schema, done.bytes) == (
        str(copy),
        schema.VERSION,
        copy.stat().st_size,
    )
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [p.name for p in copy.parent.iterdir()] == ["router.db"]
    assert steps[-1] == 0
    assert await ids(copy) == sorted(one.delivery.id for one in before)


async def test_commits_during_a_backup_neither_wait_nor_make_it_begin_again(
    store: SqliteStore, path: Path, make: Maker, tmp_path: Path
) -> None:
    """Several steps, a commit in each; none of them is in the copy."""
    before = [make.acceptance(body=os.urandom(1_000_000)) for _ in range(20)]
    for one in before:
        await store.accept(one)
    loop, steps = asyncio.get_running_loop(), list[int]()

    def commit(left: int, _: int) -> None:
        steps.append(left)
        accepting = asyncio.run_coroutine_threadsafe(store.accept(make.acceptance()), loop)
        accepting.result(10)

    await asyncio.to_thread(backup, path, tmp_path / "copy.db", progress=commit)
    assert len(steps) > 3
    assert steps == sorted(set(steps), reverse=True), "it never went back"
    assert await ids(tmp_path / "copy.db") == sorted(one.delivery.id for one in before)


async def test_a_backup_overwrites_nothing_unasked(path: Path, tmp_path: Path) -> None:
    await filled(path, 1)
    copy = tmp_path / "copy.db"
    copy.write_text("precious")
    with pytest.raises(UsageError, match="exists; name another file, or overwrite"):
        backup(path, copy)
    assert copy.read_text() == "precious"
    backup(path, copy, force=True)
    assert len(await ids(copy)) == 1


@pytest.mark.parametrize("force", [False, True])
async def test_the_store_is_never_its_own_copy(path: Path, force: bool) -> None:
    found = await filled(path, 1)
    link = path.with_name("link.db")
    link.symlink_to(path)
    with pytest.raises(UsageError, match="is the store itself"):
        backup(path, link, force=force)
    with pytest.raises(UsageError, match="is the store itself"):
        restore(link, path, stamp=STAMP)
    assert await ids(path) == found


async def test_a_damaged_store_is_said_and_no_copy_is_left(path: Path, tmp_path: Path) -> None:
    await filled(path, 200)
    data = bytearray(path.read_bytes())
    page = len(data) // 2 // 4096 * 4096
    data[page : page + 512] = os.urandom(512)
    path.write_bytes(data)
    with pytest.raises(StoreRefused, match="damaged"):
        backup(path, tmp_path / "copy.db")
    assert [p.name for p in tmp_path.iterdir() if "copy" in p.name] == []


@pytest.mark.parametrize("content", [b"", b"no store\n" * 400])
async def test_what_is_no_store_is_not_restored(path: Path, tmp_path: Path, content: bytes) -> None:
    found = await filled(path, 1)
    other = tmp_path / "other"
    other.write_bytes(content)
    with pytest.raises(StoreRefused):
        restore(other, path, stamp=STAMP)
    assert await ids(path) == found


async def test_somebody_elses_database_is_not_restored(path: Path, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (n)")
    other.close()
    with pytest.raises(StoreRefused, match="not a router's store"):
        restore(tmp_path / "other.db", path, stamp=STAMP)
    assert not path.exists()


async def test_a_backup_of_a_newer_router_is_not_restored(path: Path, tmp_path: Path) -> None:
    await filled(path, 1)
    newer = tmp_path / "newer.db"
    backup(path, newer)
    db = sqlite3.connect(newer)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreRefused, match="newer router"):
        restore(newer, path, stamp=STAMP)


async def test_a_restore_keeps_what_was_there(path: Path, tmp_path: Path) -> None:
    """Both can be opened afterwards, and nothing else is left lying about."""
    early = await filled(path, 3)
    copy = tmp_path / "copy.db"
    backup(path, copy)
    both = sorted(early + await filled(path, 2, seed=2))
    done = restore(copy, path, stamp=STAMP)
    assert done.kept == f"{path}.before-{STAMP}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {p.name for p in tmp_path.iterdir()} == {
        *("router.db", "router.db.lock", "copy.db", f"router.db.before-{STAMP}"),
    }
    assert await ids(path) == early
    assert await ids(Path(done.kept)) == both


async def test_a_restored_store_has_its_line_from_the_first_moment(
    path: Path, tmp_path: Path
) -> None:
    await filled(path, 1)
    copy = tmp_path / "copy.db"
    backup(path, copy)
    line = Audit("aud_1", 5, "local", "restore", {"path": str(copy)})
    restore(copy, path, stamp=STAMP, audit=line)
    assert sorted(p.name for p in path.parent.glob(f"{path.name}*.new*")) == []
    store = await open_store(str(path), clock=ManualClock())
    assert await store.reads.audited(None, None, 5) == (line,)
    await store.close()


async def test_a_backup_of_another_schema_is_refused(path: Path, tmp_path: Path) -> None:
    old = await filled(tmp_path / "old.db", 1)
    for version, words in ((9, "earlier development version"), (11, "newer router")):
        with contextlib.closing(sqlite3.connect(tmp_path / "old.db")) as db:
            db.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(StoreRefused, match=words):
            restore(tmp_path / "old.db", path, stamp=STAMP)
    assert old
    assert not path.exists()


async def test_a_crashed_store_is_kept_with_its_journal(path: Path, tmp_path: Path) -> None:
    """What only the journal holds belongs to the file it was written for, not to the new one."""
    early = await filled(path, 1)
    copy = tmp_path / "copy.db"
    backup(path, copy)
    store = await open_store(str(path), clock=ManualClock())
    await store.accept(Maker(2).acceptance())
    crashed = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-wal")}
    await store.close()
    for suffix, data in crashed.items():
        Path(f"{path}{suffix}").write_bytes(data)
    done = restore(copy, path, stamp=STAMP)
    assert await ids(path) == early
    assert len(await ids(Path(str(done.kept)))) == 2


async def test_no_restore_under_a_server(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    backup(path, copy)
    with pytest.raises(StoreRefused, match="in use by another router"):
        restore(copy, path, stamp=STAMP)


async def test_work_of_a_dry_run_is_neither_kept_nor_replaced(path: Path, tmp_path: Path) -> None:
    """A copy does not say of itself that its jobs were only recorded."""
    await filled(path, 1)
    copy = tmp_path / "copy.db"
    backup(path, copy)
    Path(f"{path}.dry").touch()
    with pytest.raises(StoreRefused, match="dry"):
        backup(path, tmp_path / "other.db")
    with pytest.raises(StoreRefused, match="dry"):
        restore(copy, path, stamp=STAMP)


KILLED = """
import os, signal, sys
from pathlib import Path
from router.store.sqlite import copying
calls = int(sys.argv[3])
def die_at(event, args):
    global calls
    changes = event in ("os.rename", "os.link", "os.remove", "open")
    if changes and str(args[0]).startswith(sys.argv[4]):
        calls -= 1
        if calls < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(die_at)
copying.restore(Path(sys.argv[1]), Path(sys.argv[2]), stamp=sys.argv[5])
"""


def restored_until(step: int, source: Path, store: Path) -> bool:
    """Whether a restore that is killed before that step came to its end all the same."""
    command = [sys.executable, "-c", KILLED, str(source), str(store), str(step)]
    return subprocess.run([*command, str(store.parent), f"s{step}"], check=False).returncode == 0


@pytest.mark.long
async def test_a_restore_killed_anywhere_leaves_one_store_or_says_what_to_do(
    path: Path, tmp_path: Path
) -> None:
    """Before each step on the files: then the command, given again, does it."""
    late = await filled(path, 2, seed=2)
    early_path = tmp_path / "early" / "early.db"
    early_path.parent.mkdir()
    early = await filled(early_path, 1)
    crashes, seen = 0, set()
    for step in range(40):
        place_ = tmp_path / f"case{step}" / "router.db"
        place_.parent.mkdir()
        place_.write_bytes(path.read_bytes())
        is_done = restored_until(step, early_path, place_)
        try:
            found = await ids(place_)
        except StoreRefused as error:
            assert "run `router store restore` again" in str(error)  # noqa: PT017
            seen.add("refused")
            restore(early_path, place_, stamp="again")
            assert await ids(place_) == early
        else:
            assert found in (late, early)
            seen.add("old" if found == late else "new")
        kept = [p for p in place_.parent.glob("*.before-*") if not p.name.endswith("-wal")]
        if "new" in seen:
            assert [await ids(p) for p in kept] == [late]
        if is_done:
            break
        crashes += 1
    assert seen == {"old", "refused", "new"}
    assert crashes > 5


async def test_a_look_at_a_store(store: SqliteStore, path: Path, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(action="desk")]))
    await store.accept(make.acceptance(jobs=[]))
    found = about(path)
    assert (found.deliveries, found.jobs) == (2, {"available": 2})
    assert found.schema == schema.VERSION
    assert found.journal_bytes > 0
    assert found.newest_at is not None
    assert found.oldest_due_at is not None


def test_no_store_no_look(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="there is no store"):
        about(tmp_path / "none.db")
