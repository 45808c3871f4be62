"""The one road to a store, whatever it is: by its address."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from router import log as logs
from router.clock import Clock
from router.errors import SecretMissing, StoreAbsent, StoreRefused
from router.model.operations import Audit
from router.model.store_address import PostgresDatabase, SqliteFile, StoreAddress
from router.store.database_about import DatabaseAbout
from router.store.protocol import Store
from router.store.reads import StoreReader
from router.store.sqlite import location
from router.store.values import OnCommit, uncounted

if TYPE_CHECKING:
    from router.store.moving.copying import Moved

DRIVER = "asyncpg"
EXTRA = "pip install 'webhook-rules-router[postgres]'"


def exists(address: StoreAddress) -> bool:
    """Whether there is a store to read; a database is taken to be there."""
    return not isinstance(address, SqliteFile) or Path(address.path).exists()


async def open_store(
    address: StoreAddress, *, clock: Clock, on_commit: OnCommit = uncounted
) -> Store:
    """
    Open it for writing, making its tables as needed.

    `on_commit` is called after every transaction with its writes and its seconds.

    Raises:
        SecretMissing: the variable that has a database's address is not set.
        StoreRefused: it cannot be opened; the text says why.
        StoreUnavailable: the database cannot be reached now.
    """
    if isinstance(address, SqliteFile):
        from router.store.sqlite import store as sqlite  # noqa: PLC0415 - only of the one in use

        return await sqlite.open_store(address.path, clock=clock, on_commit=on_commit)
    with _driver_wanted():
        from router.store.postgres import store as postgres  # noqa: PLC0415 - as above
    url = _url(address)
    return await postgres.open_store(url, clock=clock, on_commit=on_commit, pool=address.pool)


async def open_reader(address: StoreAddress) -> StoreReader:
    """
    Open it for reading, beside running servers or without one. Raises as `open_store`, and
    StoreAbsent: there is none yet.
    """
    if not exists(address):
        raise StoreAbsent(f"there is no store {address}")
    if isinstance(address, SqliteFile):
        from router.store.sqlite import reader as sqlite  # noqa: PLC0415 - as above

        return sqlite.open_reader(address.path)
    with _driver_wanted():
        from router.store.postgres import reader as postgres  # noqa: PLC0415 - as above
    return await postgres.open_reader(_url(address))


async def about_database(address: PostgresDatabase) -> DatabaseAbout:
    """How the database is. Raises as `open_reader`."""
    with _driver_wanted():
        from router.store.postgres import reader as postgres  # noqa: PLC0415 - as above
    reader = await postgres.open_reader(_url(address))
    try:
        return await reader.about()
    finally:
        await reader.close()


async def copy_store(
    source: SqliteFile,
    target: PostgresDatabase,
    *,
    clock: Clock,
    audit: Audit,
    show: Callable[[int, int], None],
) -> "Moved":
    """
    Copy the ledger of a file into a database. Raises as `moving.copying.copy`, and SecretMissing.
    """
    with _driver_wanted():
        from router.store.moving.copying import copy  # noqa: PLC0415 - as above
    return await copy(Path(source.path), _url(target), clock=clock, audit=audit, show=show)


def identity(address: StoreAddress) -> str:
    """By what a router and a command know that they mean the same store; "": it is not known."""
    if isinstance(address, SqliteFile):
        return os.path.realpath(address.path)
    return "" if address.missing else str(address)


def serve_at(address: StoreAddress, admin: str) -> None:
    """Name our admin address beside the store of ours, where commands look for it."""
    if isinstance(address, SqliteFile):
        location.name_admin(address.path, admin)


def served_at(address: StoreAddress) -> str | None:
    """The admin address that the router of this store named last; None: none is known."""
    return location.named_admin(address.path) if isinstance(address, SqliteFile) else None


def node_name(address: StoreAddress) -> str:
    """By what this router is known to the others on its store."""
    named = address.node if isinstance(address, PostgresDatabase) else ""
    return named or socket.gethostname()


def sqlite_path(address: StoreAddress, what: str) -> Path:
    """
    The file of a store.

    Raises:
        StoreRefused: it is a database, for which `what` says who does that.
    """
    if isinstance(address, SqliteFile):
        return Path(address.path)
    raise StoreRefused(f"{address} is a PostgreSQL database: {what}")


def _url(address: PostgresDatabase) -> str:
    """Masked in logs and outputs from now on."""
    if address.url is None:
        raise SecretMissing(address.missing)
    logs.keep_secret((address.url.url, *address.url.passwords))
    return address.url.url


@contextmanager
def _driver_wanted() -> Iterator[None]:
    """Around the import of what needs it: it is an extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != DRIVER:
            raise
        raise StoreRefused(f"a PostgreSQL store needs the driver {DRIVER}: {EXTRA}") from None
