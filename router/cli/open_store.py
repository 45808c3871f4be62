"""The store, opened for reading: beside a running server or without one."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from router.cli.output import note

if TYPE_CHECKING:
    from router.store.sqlite.reader import SqliteReader

T = TypeVar("T")


def read_store(
    path: str,
    reading: "Callable[[SqliteReader], Awaitable[T]]",
    *,
    absent: T,
    quiet: bool = False,
) -> T:
    """
    What `reading` gets from the store's reader; `absent`, with a word on stderr unless `quiet`, if
    there is no store yet.
    """
    if not Path(path).exists():
        if not quiet:
            note(f"nothing has been received yet (there is no store {path})")
        return absent
    return asyncio.run(_read(path, reading))


async def _read(path: str, reading: "Callable[[SqliteReader], Awaitable[T]]") -> T:
    from router.store.sqlite.reader import open_reader

    reader = open_reader(path)
    try:
        return await reading(reader)
    finally:
        await reader.close()
