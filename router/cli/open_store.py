"""The store, opened for reading: beside running servers or without one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from router.errors import StoreAbsent

if TYPE_CHECKING:
    from router.model.store_address import StoreAddress
    from router.store.reads import StoreReader

T = TypeVar("T")


def read_store(
    address: "StoreAddress", reading: "Callable[[StoreReader], Awaitable[T]]", *, absent: T
) -> T:
    """What `reading` gets from the store's reader; `absent` if there is no store yet."""
    from router.wiring.stores import open_reader

    async def read() -> T:
        try:
            reader = await open_reader(address)
        except StoreAbsent:
            return absent
        try:
            return await reading(reader)
        finally:
            await reader.close()

    return asyncio.run(read())
