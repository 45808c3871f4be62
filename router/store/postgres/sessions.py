"""
The first connections of a process: each must have a session of the server to itself, with settings,
locks and prepared statements that last.
"""

import asyncpg

from router.errors import StoreRefused, StoreUnavailable
from router.store.postgres.connection import Connection, Lane
from router.store.postgres.failures import DRIVER, REFUSED, said

ROUNDS = 2
_SESSION = "SELECT pg_backend_pid()"
_ELSEWHERE = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
"""A statement was prepared in another session than the one in which it was to run."""


async def open_first(one: Lane, other: Lane) -> None:
    """
    Make a first connection of each of two lanes to one database.

    Raises:
        StoreRefused: the server will not have us, or a pooler lends us sessions for a transaction.
        StoreUnavailable: it cannot be reached now.
    """
    made: list[Connection] = []
    try:
        made = [await one.connect(), await other.connect()]
        if not await have_sessions(*made):
            raise StoreRefused(
                f"{one.address} is behind a pooler that lends a session for one transaction or "
                "statement; a router needs sessions of its own: let the pooler work in session "
                "mode, or name the server itself"
            )
        await one.adopt(made[0])
        await other.adopt(made[1])
    except BaseException as error:
        for connection in made:
            connection.terminate()
        if isinstance(error, REFUSED):
            raise StoreRefused(f"{one.address} refuses us: {said(error)}") from error
        if isinstance(error, DRIVER):
            raise StoreUnavailable(f"{one.address} cannot be reached: {said(error)}") from error
        raise


async def have_sessions(one: Connection, other: Connection) -> bool:
    """
    Whether each of them is in one session all the time, and that not the other's. A pooler that
    lends sessions gives whoever asks the one that became free last, so both have the same; or each
    time another one. Nothing that would last is set meanwhile: it would be set for strangers.
    """
    found: dict[Connection, set[int]] = {one: set(), other: set()}
    try:
        for connection in (one, one, other, one) * ROUNDS:
            found[connection].add(await connection.fetchval(_SESSION))
    except _ELSEWHERE:
        return False
    return len(found[one]) == len(found[other]) == 1 and not found[one] & found[other]
