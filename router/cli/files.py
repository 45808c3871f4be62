"""Files that a command line names: read, made anew, or written whole or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from router.errors import UsageError, os_errors_refused


def read_named(name: str) -> bytes:
    """
    The file's bytes; of `-` what comes on stdin.

    Raises:
        UsageError: it cannot be read.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    with os_errors_refused(f"cannot read {name}"):
        return Path(name).read_bytes()


def write_new(path: Path, text: str, mode: int = 0o666) -> None:
    """
    Make a file where none is; whoever made it meanwhile keeps it.

    Raises:
        UsageError: it exists already, or cannot be written.
    """
    with os_errors_refused(f"cannot write {path}"):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            raise taken(path) from None
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)


def taken(path: Path) -> UsageError:
    """What is wrong with a file that is to be made, and exists."""
    return UsageError(f"{path} exists already; name another file")


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """As `whole_file`, at once."""
    with whole_file(path, mode) as file:
        file.write(data)


@contextmanager
def whole_file(path: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """
    A new file that takes the name once it is written; a name that is a link is replaced, not
    followed.
    """
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            os.fchmod(descriptor, mode)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
