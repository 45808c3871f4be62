"""The HTTP client of a plugin's context: every address is checked as it is connected to."""

import asyncio
import functools
import socket
import ssl
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore
import httpx

from router.egress import EgressPolicy, check_name, is_written
from router.errors import EgressRefused

TIMEOUT_S, CONNECT_S = 30.0, 5.0
READ_MAX = 4 * 1024
AGENT = "webhook-rules-router"


def async_client(
    egress: Iterable[str],
    hosts: Iterable[str],
    trust: ssl.SSLContext | None = None,
    traceparent: str | None = None,
) -> httpx.AsyncClient:
    """
    The client for `async def`; `hosts` are those that the operator wrote down, `trust` says whose
    certificates are accepted if not those of the usual authorities, `traceparent` what all calls
    are part of.
    """
    transport = _Transport(_Guard(egress, hosts), trust or _trust())
    return httpx.AsyncClient(transport=transport, **_settings(traceparent))


def plain_client(
    egress: Iterable[str], hosts: Iterable[str], traceparent: str | None = None
) -> httpx.Client:
    """The client for a plain `def`; see `async_client`."""
    transport = _PlainTransport(_Guard(egress, hosts))
    return httpx.Client(transport=transport, **_settings(traceparent))


def _settings(traceparent: str | None) -> dict[str, Any]:
    trace = {"traceparent": traceparent} if traceparent else {}
    return {
        "timeout": httpx.Timeout(TIMEOUT_S, connect=CONNECT_S),
        "trust_env": False,
        "headers": {"User-Agent": AGENT} | trace,
    }


@functools.cache
def _trust() -> ssl.SSLContext:
    """Made once a process: it costs more than a request."""
    return httpx.create_ssl_context(trust_env=False)


class _Guard:
    """Which of a host's addresses may be called."""

    def __init__(self, egress: Iterable[str], hosts: Iterable[str]) -> None:
        self._policy = EgressPolicy(egress)
        self._written = frozenset(hosts)

    def allowed(self, host: str, infos: Sequence[Any]) -> list[str]:
        """
        The addresses that a connection may go to, in the resolver's order.

        Raises:
            EgressRefused: there is none.
        """
        check_name(host)
        found, refusal = [], EgressRefused(host, "has no address", lasting=False)
        for address in dict.fromkeys(str(info[4][0]) for info in infos):
            try:
                self._policy.check(address, host, literal=is_written(address, host, self._written))
            except EgressRefused as error:
                refusal = error
            else:
                found.append(address)
        if not found:
            raise refusal
        return found


class _SmallReads(httpcore.AsyncNetworkStream):
    """
    A connection that is read a little at a time.

    All that was read is parsed in one turn of the loop, interim answers and small chunks one by
    one: of 64 KiB of them everybody else on the loop would wait for 80 ms, again and again.
    """

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own word
    ) -> bytes:
        return await self._inner.read(min(max_bytes, READ_MAX), timeout)

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own word
    ) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own word
    ) -> httpcore.AsyncNetworkStream:
        return _SmallReads(await self._inner.start_tls(ssl_context, server_hostname, timeout))


class _Network(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only."""

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own word
        *args: Any,
        **options: Any,
    ) -> httpcore.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("the name was not looked up in time") from error
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the name was not found") from error
        failure: Exception = httpcore.ConnectError("no connection")
        for address in self._guard.allowed(host, infos):
            try:
                stream = await self._inner.connect_tcp(address, port, timeout, *args, **options)
                return _SmallReads(stream)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _PlainNetwork(httpcore.NetworkBackend):
    """Connects to checked addresses only, for the plain client."""

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        *args: Any,
        **options: Any,
    ) -> httpcore.NetworkStream:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the name was not found") from error
        failure: Exception = httpcore.ConnectError("no connection")
        for address in self._guard.allowed(host, infos):
            try:
                return self._inner.connect_tcp(address, port, timeout, *args, **options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Transport(httpx.AsyncHTTPTransport):
    """httpx's transport over a pool that asks the guard."""

    def __init__(self, guard: _Guard, trust: ssl.SSLContext) -> None:
        super().__init__(verify=trust, trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=trust, network_backend=_Network(guard)
        )


class _PlainTransport(httpx.HTTPTransport):
    """httpx's plain transport over a pool that asks the guard."""

    def __init__(self, guard: _Guard) -> None:
        super().__init__(verify=_trust(), trust_env=False)
        self._pool = httpcore.ConnectionPool(
            ssl_context=_trust(), network_backend=_PlainNetwork(guard)
        )
