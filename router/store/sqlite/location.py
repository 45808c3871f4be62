"""Where a store lies: its folder, its files' modes, and the lock that keeps a second server out."""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from router.egress import host_and_port
from router.errors import StoreRefused

REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ncpfs", "afs", "fuse.sshfs"})
"""File systems on which SQLite's locks or syncs cannot be relied on."""

FREE_BYTES_MIN = 1024 * 1024
"""So many bytes free are enough to open a store; an error with less is for want of space."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Identity = tuple[int, int]
"""A file's device and inode: another file of its name has others."""

_CLAIM = 0x4000_0400
"""The byte of a store that its writer locks; those that SQLite locks lie before it."""

_HOLDER_BYTES, _ADDRESS_BYTES = 32, 288
"""Of a lock file, for the process that has it, and then for the address of its admin listener."""


class Lock:
    """
    The right to write the store at `path`, held until `close` or the process's end.

    Two locks make it: that of a file beside the store and, once it is open, one on the store
    itself. So whoever removes the lock file lets no second server in.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, Path(f"{path}.lock")
        self._file_name = str(self._file)
        self._files: dict[str, Identity] = {}
        self._descriptors = [_locked(self._file, path)]
        self._own = _identity(os.fstat(self._descriptors[0]))
        try:
            if path.exists():
                os.close(_claimed(path))
        except BaseException:
            self.close()
            raise

    def hold(self) -> None:
        """
        From now on, the store being open: lock it too, and know its files again.

        Raises:
            StoreRefused: another router has it, or it is not there any more.
        """
        self._descriptors.append(_claimed(self._path))
        names = (str(self._path), f"{self._path}-wal")
        try:
            self._files = {name: _identity(os.stat(name)) for name in names}  # noqa: PTH116 - hot
        except OSError as error:
            raise StoreRefused(f"{self._path} was taken away ({error.strerror})") from error

    def gone(self) -> str | None:
        """
        What has become of the store if its files are not those that were opened; None: they are.
        A lock file that somebody removed is put back.
        """
        for name, opened in self._files.items():
            try:
                found = _identity(os.stat(name))  # noqa: PTH116 - asked after every commit
            except OSError as error:
                return f"{name} was taken away while the router ran ({error.strerror})"
            if found != opened:
                return f"{name} was replaced by another file while the router ran"
        self._put_back()
        return None

    def close(self) -> None:
        """Give the right up. The file stays: removing it would let two servers each lock one."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _put_back(self) -> None:
        with suppress(OSError):
            if _identity(os.stat(self._file_name)) == self._own:  # noqa: PTH116 - as above
                return
        # Somebody tries it just now: he is refused, and lets it go; or the disk is full: next time.
        with suppress(StoreRefused, OSError):
            fresh = _locked(self._file, self._path)
            try:
                os.dup2(fresh, self._descriptors[0], inheritable=False)
            finally:
                os.close(fresh)
            self._own = _identity(os.fstat(self._descriptors[0]))


class NoLock(Lock):
    """For a store that nobody else can reach."""

    def __init__(self) -> None:
        pass

    def gone(self) -> None:
        """It cannot be taken away."""

    def close(self) -> None:
        """There is nothing to give back."""


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
        sync(path.parent)


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


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _locked(file: Path, store: Path) -> int:
    """A descriptor of the lock file, locked, with our process in it. Raises StoreRefused."""
    descriptor = _opened(file)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, _HOLDER_BYTES, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise StoreRefused(
            f"{store} is in use by another router (process {holder or 'unknown'})"
        ) from error
    try:
        holder = f"{os.getpid():<{_HOLDER_BYTES - 1}}\n{'':{_ADDRESS_BYTES - 1}}\n"
        os.pwrite(descriptor, holder.encode("ascii"), 0)
    except OSError as error:
        os.close(descriptor)
        raise _unwritable(file, error) from error
    return descriptor


def name_admin(store: str, address: str) -> None:
    """Name the address of our admin listener in the lock file, which is ours."""
    with suppress(FileNotFoundError), Path(f"{store}.lock").open("r+b") as file:
        # It may have been removed just now: it is put back without the address.
        file.seek(_HOLDER_BYTES)
        file.write(f"{address:<{_ADDRESS_BYTES - 1}}\n".encode("ascii"))


def named_admin(store: str) -> str | None:
    """The admin address in the lock file, of its last holder; None: there is none to be read."""
    try:
        with Path(f"{store}.lock").open("rb") as file:
            text = file.read(_HOLDER_BYTES + _ADDRESS_BYTES)[_HOLDER_BYTES:]
    except OSError:  # who may not read it is told so of the token, which lies beside it
        return None
    address = text.decode("ascii", "replace").strip()
    return address if host_and_port(address) else None


def _claimed(store: Path) -> int:
    """
    A descriptor of the store, with a lock on it. Raises StoreRefused.

    A lock of this kind is the process's: it goes when any descriptor of the file is closed.
    """
    descriptor = _opened(store, create=False)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _CLAIM)
    except OSError as error:
        os.close(descriptor)
        raise StoreRefused(
            f"{store} is in use by another router, whose lock file was removed"
        ) from error
    return descriptor


def _opened(path: Path, *, create: bool = True) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> StoreRefused:
    if error.errno in _NO_ROOM:
        return without_room(path)
    return StoreRefused(f"{path} cannot be opened for writing: {error.strerror}")


def is_full(folder: Path) -> bool:
    """Whether the disk of this folder has too little space to open a store."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < FREE_BYTES_MIN or (
        disk.f_files > 0 and disk.f_favail == 0
    )


def without_room(path: Path) -> StoreRefused:
    """Why nothing can be written at `path`, and what to do."""
    return StoreRefused(
        f"the disk of {path} is full, or a quota is used up: free some space, then start again; "
        "what was stored before is as it was"
    )


def sync(path: Path) -> None:
    """Make what a file holds, or what a folder says of its files, outlive a power cut."""
    descriptor = os.open(path, (os.O_RDONLY if path.is_dir() else os.O_RDWR) | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
