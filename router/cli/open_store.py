"""The store, opened for reading: beside a running server or without one."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from router.store.sqlite.reader import SqliteReader

T = TypeVar("T")


def read_store(path: str, reading: "Callable[[SqliteReader], Awaitable[T]]", *, absent: T) -> T:
    """What `reading` gets from the store's reader; `absent` if there is no store yet."""
    return read_existing(path, reading) if Path(path).exists() else absent


def read_existing(path: str, reading: "Callable[[SqliteReader], Awaitable[T]]") -> T:
    """What `reading` gets from the store's reader."""
    from router.store.sqlite.reader import open_reader

    async def read() -> T:
        reader = open_reader(path)
        try:
            return await reading(reader)
        finally:
            await reader.close()

    return asyncio.run(read())
