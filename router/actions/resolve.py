"""Names to addresses, off the loop and bounded: a resolver that hangs delays no other call."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable

Resolve = Callable[[str], Awaitable[list[str]]]
"""The addresses of a host name. Raises OSError."""

AT_ONCE = 32
"""Look-ups that may hang at the same time; more are refused."""

_slots = threading.BoundedSemaphore(AT_ONCE)


async def system_lookup(host: str) -> list[str]:
    """
    The system's answer, however long it takes: the caller's time limit ends the wait.

    Each look-up has a thread of its own that never keeps the process alive: the pool behind
    `loop.getaddrinfo` has six, and six names that hang would stop every other.
    """
    if not _slots.acquire(blocking=False):
        raise OSError("too many look-ups are waiting for an answer")
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()
    threading.Thread(target=_ask, args=(host, loop, answer), daemon=True).start()
    return await answer


def _ask(host: str, loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[list[str]]") -> None:
    found: list[str] | OSError
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        found = list(dict.fromkeys(str(info[4][0]) for info in infos))
    except (OSError, UnicodeError) as error:
        found = error if isinstance(error, OSError) else OSError("not a host name")
    finally:
        _slots.release()
    try:
        loop.call_soon_threadsafe(_answered, answer, found)
    except RuntimeError:
        return  # the loop was closed meanwhile: nobody waits


def _answered(answer: "asyncio.Future[list[str]]", found: list[str] | OSError) -> None:
    if answer.done():
        return
    if isinstance(found, OSError):
        answer.set_exception(found)
    else:
        answer.set_result(found)
