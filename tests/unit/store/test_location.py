"""The store's folder, modes and lock."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.errors import StoreRefused
from router.store.sqlite import location
from router.store.sqlite.location import file_system
from router.store.sqlite.store import SqliteStore, open_store
from tests.clocks import ManualClock
from tests.store_values import Maker

MOUNTS = """/dev/vda / ext4 rw 0 0
server:/export /mnt/far nfs4 rw 0 0
/dev/vdb /mnt/far/near xfs rw 0 0
/dev/vdc /mnt/with\\040space vfat rw 0 0
"""


async def test_every_file_is_the_owner_s_alone(store: SqliteStore, path: Path, make: Maker) -> None:
    await store.accept(make.acceptance(b"k"))
    files = sorted(path.parent.glob("router.db*"))
    assert [f.name for f in files] == [
        "router.db",
        "router.db-shm",
        "router.db-wal",
        "router.db.lock",
    ]
    assert {f.stat().st_mode & 0o777 for f in files} == {0o600}


async def test_a_second_server_is_refused(store: SqliteStore, path: Path) -> None:
    with pytest.raises(StoreRefused, match=f"in use by another router .process {os.getpid()}"):
        await open_store(str(path), clock=ManualClock())
    await store.ready()


@pytest.fixture
def held(path: Path) -> Iterator[location.Lock]:
    """The lock of a store that is open."""
    lock = location.Lock(path)
    for suffix in ("", "-wal"):
        Path(f"{path}{suffix}").touch()
    lock.hold()
    yield lock
    lock.close()


def test_without_its_lock_file_the_store_itself_keeps_others_out(
    held: location.Lock, path: Path
) -> None:
    path.with_name("router.db.lock").unlink()
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from router.store.sqlite import location\n"
        "location.Lock(Path(sys.argv[1]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert "in use by another router, whose lock file was removed" in run.stderr


def test_a_lock_file_that_was_removed_is_put_back(held: location.Lock, path: Path) -> None:
    file = path.with_name("router.db.lock")
    file.unlink()
    assert held.gone() is None
    assert file.read_text().split() == [str(os.getpid())]
    inode = file.stat().st_ino
    assert held.gone() is None
    assert file.stat().st_ino == inode, "made anew once"
    with pytest.raises(StoreRefused, match=f"process {os.getpid()}"):
        location.Lock(path)


def test_a_lock_file_that_somebody_tries_is_taken_back_later(
    held: location.Lock, path: Path
) -> None:
    file = path.with_name("router.db.lock")
    file.unlink()
    with file.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert held.gone() is None
        assert file.read_text() == ""
    assert held.gone() is None
    assert file.read_text().split() == [str(os.getpid())]


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_files_that_are_not_those_opened_are_reported(
    held: location.Lock, path: Path, suffix: str
) -> None:
    file = Path(f"{path}{suffix}")
    away = file.rename(f"{file}.old")
    assert str(held.gone()).startswith(f"{file} was taken away")
    file.touch()
    assert str(held.gone()).startswith(f"{file} was replaced by another file")
    away.rename(file)
    assert held.gone() is None, "it is the one that was opened"


def test_a_folder_that_was_renamed_or_replaced_is_reported(held: location.Lock, path: Path) -> None:
    away = path.parent.rename(path.parent.with_name("elsewhere"))
    assert "was taken away" in str(held.gone())
    path.parent.mkdir()
    assert "was taken away" in str(held.gone())
    path.parent.rmdir()
    away.rename(path.parent)
    assert held.gone() is None


async def test_a_lock_file_left_behind_refuses_nobody(path: Path) -> None:
    script = (
        "import asyncio, os, signal, sys\n"
        "from router.clock import SystemClock\n"
        "from router.store.sqlite.store import open_store\n"
        "async def main():\n"
        "    await open_store(sys.argv[1], clock=SystemClock())\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    run = subprocess.run([sys.executable, "-c", script, str(path)], check=False)  # noqa: ASYNC221
    assert run.returncode == -9
    assert path.with_name("router.db.lock").exists()
    store = await open_store(str(path), clock=ManualClock())
    await store.close()


async def test_a_closed_store_can_be_opened_again(path: Path) -> None:
    for _ in range(2):
        store = await open_store(str(path), clock=ManualClock())
        await store.close()
        await store.close()


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match=r"nowhere does not exist"):
        await open_store(str(tmp_path / "nowhere" / "router.db"), clock=ManualClock())


async def test_a_folder_in_place_of_the_file_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StoreRefused, match="cannot be opened for writing"):
        await open_store(str(path), clock=ManualClock())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreRefused, match="cannot be opened for writing"):
        await open_store(str(tmp_path / "router.db"), clock=ManualClock())


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/srv", "ext4"),
        ("/mnt/far", "nfs4"),
        ("/mnt/far/x", "nfs4"),
        ("/mnt/far/near/x", "xfs"),
        ("/mnt/farther", "ext4"),
        ("/mnt/with space/x", "vfat"),
    ],
)
def test_the_nearest_mount_decides(folder: str, kind: str) -> None:
    assert file_system(Path(folder), MOUNTS) == kind
