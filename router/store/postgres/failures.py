"""What an error of the driver means for the request that met it, and for its connection."""

import asyncpg

from router.errors import StoreUnavailable

DRIVER = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    RuntimeError,
)
"""Everything that the driver raises; RuntimeError: uvloop, when it writes to a closed transport."""

REFUSED = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
"""Waiting does not mend these."""

_CROSSED = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
)
_OF_VALUES = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
)


class Crossed(StoreUnavailable):
    """Another session was in the way. The transaction is undone, and can begin anew."""


class Unstorable(StoreUnavailable):
    """The database refuses a value of this request. The transaction is undone; so it stays."""


TO_BLAME = (Unstorable, ValueError, TypeError)
"""One item of a group is to blame for these: the others can be stored without it."""
SOUND = (Crossed, Unstorable)
"""The connection can be used after these. After any other failure its state is unknown."""


def failure(error: Exception, where: str) -> StoreUnavailable:
    """
    The error for the caller: Crossed, Unstorable, or StoreUnavailable for all else that a server,
    a pooler, the network or the driver has to say. The outcome is unknown after the last.
    """
    if getattr(error, "severity_en", None) not in ("FATAL", "PANIC"):  # which end the session
        if isinstance(error, _CROSSED):
            remedy = "try again; `router store info` says which session it is"
            return Crossed(f"{where}: another session was in the way ({said(error)}): {remedy}")
        if isinstance(error, _OF_VALUES):
            return unstorable(error)
    return StoreUnavailable(f"{where}: {said(error)}")


def unstorable(error: Exception) -> Unstorable:
    """The same error for whoever sent the value that is to blame, see TO_BLAME."""
    if isinstance(error, Unstorable):
        return error
    found = Unstorable(f"this cannot be stored: {said(error)}")
    found.__cause__ = error
    return found


def said(error: BaseException) -> str:
    """What the server said, or what kind of failure it was: never the address, nor a row."""
    if isinstance(error, asyncpg.PostgresError):
        first = str(error).partition("\n")[0]
        by_driver = error.severity_en is None  # it quotes the value after a colon
        return first.partition(":")[0] if by_driver else first
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
