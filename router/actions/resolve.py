"""Names to addresses, off the loop and bounded: a resolver that hangs delays no other call."""

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable

Resolve = Callable[[str], Awaitable[list[str]]]
"""The addresses of a host name. Raises OSError."""

AT_ONCE = 32
"""Look-ups that may hang at the same time; more are refused."""

KEPT_S = 10.0
KEPT_MAX = 1024

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


class NameCache:
    """
    A resolver's answers, for ten seconds: a target that closes every connection costs no look-up
    for each. Who asks for what is being asked already waits for the same answer.
    """

    def __init__(self, lookup: Resolve, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._lookup, self._monotonic = lookup, monotonic
        self._known: dict[str, tuple[float, list[str]]] = {}
        self._asking: dict[str, asyncio.Task[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """
        Every address of the name, another one first each time.

        Raises:
            OSError: there is none.
        """
        until, found = self._known.get(host, (0.0, []))
        if self._monotonic() >= until:
            found = await asyncio.shield(self._asked(host))
        addresses = list(found)
        found.append(found.pop(0))
        return addresses

    def close(self) -> None:
        """Wait for no answer any more."""
        for task in self._asking.values():
            task.cancel()

    def _asked(self, host: str) -> "asyncio.Task[list[str]]":
        if (task := self._asking.get(host)) is None:
            task = asyncio.get_running_loop().create_task(self._ask(host))
            self._asking[host] = task
            task.add_done_callback(lambda _: self._asking.pop(host, None))
        return task

    async def _ask(self, host: str) -> list[str]:
        if not (found := await self._lookup(host)):
            raise OSError("the name has no address")
        if len(self._known) >= KEPT_MAX:
            self._known.clear()
        self._known[host] = self._monotonic() + KEPT_S, found
        return found
