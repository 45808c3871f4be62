"""Where a store lies: its folder, its files' modes, and the lock that keeps a second server out."""

import fcntl
import os
from pathlib import Path

from router.errors import StoreRefused

REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ncpfs", "afs", "fuse.sshfs"})
"""File systems on which SQLite's locks or syncs cannot be relied on."""


class Lock:
    """The right to write the store at `path`, held until `release` or the process's end."""

    def __init__(self, path: Path) -> None:
        self._file = Path(f"{path}.lock")
        self._descriptor = _opened(self._file)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise StoreRefused(
                f"{path} is in use by another router (process {holder or 'unknown'})"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Give the right up. The file stays: removing it would let two servers each lock one."""
        os.close(self._descriptor)


def prepare(path: Path) -> None:
    """
    Make the file ready to be a store: a local folder that can be written, mode 0600.

    SQLite gives its -wal and -shm files the mode of the main file.

    Raises:
        StoreRefused: the folder is missing or cannot be written, or lies on a remote file system,
            or a restore into this place was cut off.
    """
    if restoring(path).exists():
        raise StoreRefused(
            f"a restore of {path} was cut off; run `router store restore` again "
            f"(what was there before lies beside it)"
        )
    check_folder(path.parent)
    fresh = not path.exists()
    os.close(_opened(path))
    path.chmod(0o600)
    if fresh:
        sync_folder(path.parent)


def restoring(path: Path) -> Path:
    """Where the file that takes this store's place lies while the old one is put aside."""
    return Path(f"{path}.restoring")


def check_folder(folder: Path) -> None:
    """
    Pass if a store may lie in this folder.

    Raises:
        StoreRefused: it is missing, cannot be written, or lies on a remote file system.
    """
    if not folder.is_dir():
        raise StoreRefused(f"the folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreRefused(f"the folder {folder} cannot be written")
    kind = file_system(folder, _mounts())
    if kind in REMOTE:
        raise StoreRefused(f"{folder} is on {kind}: SQLite needs a local disk")


def file_system(folder: Path, mounts: str) -> str:
    """The type of file system `folder` lies on, read from the text of /proc/self/mounts."""
    place = folder.resolve()
    best, kind = -1, "unknown"
    for line in mounts.splitlines():
        words = line.split()
        point = Path(words[1].replace("\\040", " "))
        if len(point.parts) >= best and place.is_relative_to(point):
            best, kind = len(point.parts), words[2]
    return kind


def _mounts() -> str:
    try:
        return Path("/proc/self/mounts").read_text("utf-8", "replace")
    except OSError:
        return ""


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreRefused(f"{path} cannot be opened for writing: {error.strerror}") from error


def sync_folder(folder: Path) -> None:
    """Make what the folder says of its files outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
