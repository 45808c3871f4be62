"""From a host to a socket that is connected to an address which may be called."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from itertools import chain, zip_longest

from router.actions.http_client.response import TransferError, errno_words
from router.egress import EgressPolicy, check_name, is_written, literal_address
from router.errors import EgressRefused

STAGGER_S = 0.25
"""How long one address is alone before the next one is tried beside it (RFC 8305)."""

Addresses = Callable[[str], Awaitable[list[str]]]
"""The addresses of a name. Raises OSError."""


class Dialler:
    """
    Connects to hosts. Every address is checked as it is connected to: `egress` refuses, but for
    literal addresses that the operator wrote.
    """

    def __init__(self, egress: EgressPolicy, addresses: Addresses) -> None:
        self._loop = asyncio.get_running_loop()
        self._egress, self._addresses = egress, addresses

    async def connected(self, host: str, port: int) -> socket.socket:
        """
        A socket of the first address that takes it. The next one is tried when one does not, or
        not soon; those that are slower then are given up.

        Raises:
            EgressRefused: no address may be called, or not that name.
            TransferError: the name was not found.
            OSError: none took it; what the last one said.
        """
        addresses = await self._addresses_of(host)
        if len(addresses) == 1:
            return await self._dialled(host, addresses[0], port)
        started: list[asyncio.Task[socket.socket]] = []
        pending: set[asyncio.Task[socket.socket]] = set()
        failures: list[BaseException] = []
        left = in_turn(addresses)
        try:
            while left or pending:
                if left:
                    started.append(self._loop.create_task(self._dialled(host, left.pop(0), port)))
                    pending.add(started[-1])
                done, pending = await asyncio.wait(
                    pending,
                    timeout=STAGGER_S if left else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in done:
                    if (error := task.exception()) is None:
                        started.remove(task)
                        return task.result()
                    failures.append(error)
        finally:
            for task in started:  # a socket that came too late is closed
                if not (task.cancel() or task.cancelled() or task.exception()):
                    task.result().close()
        tried = [error for error in failures if not isinstance(error, EgressRefused)]
        raise (tried or failures)[-1]

    async def _addresses_of(self, host: str) -> list[str]:
        if literal_address(host) is not None:
            return [host]
        check_name(host)
        try:
            return await self._addresses(host)
        except OSError as error:
            raise TransferError("the name was not found" + errno_words(error)) from None

    async def _dialled(self, host: str, address: str, port: int) -> socket.socket:
        """The address that is checked is the one that is connected to: nothing lies between."""
        self._egress.check(address, host, literal=is_written(address, host, (host,)))
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV  # nothing is looked up
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=flags)
        family, kind, proto, _, place = found[0]
        raw = socket.socket(family, kind, proto)
        try:
            raw.setblocking(False)
            await self._loop.sock_connect(raw, place)
        except BaseException:
            raw.close()
            raise
        return raw


def in_turn(addresses: list[str]) -> list[str]:
    """IPv4 and IPv6 by turns, the first one's kind first."""
    kinds = (":" in addresses[0], ":" not in addresses[0])
    one, other = ([each for each in addresses if (":" in each) is kind] for kind in kinds)
    return [each for each in chain(*zip_longest(one, other)) if each is not None]
