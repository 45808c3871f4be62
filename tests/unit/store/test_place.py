"""The store's folder, modes and lock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from router.errors import StoreRefused
from router.store.place import file_system
from router.store.sqlite import SqliteStore, open_store
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


async def test_a_lock_file_left_behind_refuses_nobody(path: Path) -> None:
    script = (
        "import asyncio, os, signal, sys\n"
        "from router.clock import SystemClock\n"
        "from router.store.sqlite import open_store\n"
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
