"""Whatever the driver raises, the caller gets StoreUnavailable; unsound connections are closed."""

import asyncio
import inspect

import asyncpg
import pytest

from router.errors import StoreUnavailable
from router.store.postgres.connection import Connection
from router.store.postgres.database import AGAIN, Database, Tx
from router.store.postgres.failures import DRIVER, Crossed, Unstorable
from router.store.postgres.store import PostgresStore
from router.store.values import Accepted
from tests.store_values import Maker

SECRET = "4111-2222"


def raised(kind: type[Exception], severity: str | None = "ERROR") -> Exception:
    error = kind("said")
    error.severity_en = severity  # type: ignore[attr-defined]
    return error


ROWS: list[tuple[Exception, type[StoreUnavailable], bool]] = [
    # What another session holds; a standby that must go on says the same of what it cancels.
    (raised(asyncpg.LockNotAvailableError), Crossed, True),
    (raised(asyncpg.DeadlockDetectedError), Crossed, True),
    (raised(asyncpg.SerializationError), Crossed, True),
    (raised(asyncpg.SerializationError, "FATAL"), StoreUnavailable, False),
    # A value of this request.
    (raised(asyncpg.CharacterNotInRepertoireError), Unstorable, True),
    (raised(asyncpg.NotNullViolationError), Unstorable, True),
    (raised(asyncpg.ProgramLimitExceededError), Unstorable, True),
    (raised(asyncpg.DataError, None), Unstorable, True),
    # The server: it ends, is full, or takes too long.
    (raised(asyncpg.QueryCanceledError), StoreUnavailable, False),
    (raised(asyncpg.AdminShutdownError, "FATAL"), StoreUnavailable, False),
    (raised(asyncpg.CrashShutdownError, "FATAL"), StoreUnavailable, False),
    (raised(asyncpg.CannotConnectNowError, "FATAL"), StoreUnavailable, False),
    (raised(asyncpg.TooManyConnectionsError, "FATAL"), StoreUnavailable, False),
    (raised(asyncpg.IdleInTransactionSessionTimeoutError, "FATAL"), StoreUnavailable, False),
    (raised(asyncpg.DiskFullError), StoreUnavailable, False),
    (raised(asyncpg.PostgresIOError), StoreUnavailable, False),
    (raised(asyncpg.ReadOnlySQLTransactionError), StoreUnavailable, False),
    (raised(asyncpg.UndefinedColumnError), StoreUnavailable, False),
    # pgbouncer, the driver, the event loop, the network.
    (raised(asyncpg.ProtocolViolationError, "FATAL"), StoreUnavailable, False),
    (asyncpg.InternalClientError("cannot switch to state 12"), StoreUnavailable, False),
    (asyncpg.InterfaceError("another operation is in progress"), StoreUnavailable, False),
    (RuntimeError("<TCPTransport closed=True>; the handler is closed"), StoreUnavailable, False),
    (ConnectionResetError("reset"), StoreUnavailable, False),
    (TimeoutError(), StoreUnavailable, False),
    # Not of the driver: a defect of ours is nobody's lock, and harms no connection.
    (KeyError("ours"), KeyError, True),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("error", "found", "kept"), ROWS, ids=lambda value: repr(value)[:60])
async def test_what_becomes_of_an_error(
    db: Database, error: Exception, found: type[Exception], kept: bool
) -> None:
    before = await session(db)

    async def fails(_connection: Connection) -> None:
        raise error

    with pytest.raises(found) as met:
        await db.write.run(fails)
    assert met.type is found
    assert (await session(db) == before) is kept


async def session(db: Database) -> int:
    return int(await db.write.run(lambda c: c.fetchval("SELECT pg_backend_pid()")))


def test_the_driver_raises_nothing_else() -> None:
    kinds = [
        kind
        for kind in vars(asyncpg).values()
        if inspect.isclass(kind) and issubclass(kind, Exception) and not issubclass(kind, Warning)
    ]
    assert len(kinds) > 200
    assert [kind for kind in kinds if not issubclass(kind, DRIVER)] == []


@pytest.mark.parametrize(("verb", "times"), [("ask", 1), ("ask_once", 1), ("transact", AGAIN)])
async def test_a_lock_is_an_outage_for_whoever_asks(db: Database, verb: str, times: int) -> None:
    tried: list[Tx] = []

    async def locked(tx: Tx) -> None:
        tried.append(tx)
        raise raised(asyncpg.LockNotAvailableError)

    with pytest.raises(StoreUnavailable, match=r"another session was in the way \(said\)"):
        await getattr(db, verb)(locked)
    assert len(tried) == times


async def test_a_connection_amid_a_transaction_is_nobody_s_next(db: Database) -> None:
    before = await session(db)
    await db.write.run(lambda connection: connection.execute("BEGIN"))
    assert await session(db) != before


@pytest.mark.parametrize(
    ("sql", "value"),
    [("INSERT INTO jobs (reason) VALUES ($1)", SECRET), ("SELECT $1::text", f"\ud800{SECRET}")],
    ids=["a row", "a value"],
)
async def test_a_refusal_does_not_quote_what_is_refused(db: Database, sql: str, value: str) -> None:
    with pytest.raises(Unstorable, match="this cannot be stored: ") as met:
        await db.write.run(lambda connection: connection.execute(sql, value))
    assert SECRET not in str(met.value)


async def test_whatever_waits_leaves_a_connection_to_accept(db: Database, make: Maker) -> None:
    """As one for the lock of a table that no delivery needs."""
    store, goes_on = PostgresStore(db), asyncio.Event()

    async def waits(_tx: Tx) -> None:
        await goes_on.wait()

    waiting = [asyncio.create_task(db.state(1, waits)) for _ in range(db.writers)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(10):
            assert isinstance(await store.accept(make.acceptance()), Accepted)
            await store.ready()
    finally:
        goes_on.set()
        await asyncio.wait(waiting)
