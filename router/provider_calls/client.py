"""One call of a sender's API: bounded in time and size, its failures in words of our own."""

import asyncio
import ssl
from collections.abc import Iterable
from types import TracebackType
from urllib.parse import urlsplit

import httpx

from router.errors import EgressRefused
from router.plugin_http import async_client
from router.provider_calls.answers import ApiAnswer, CallFailedError, retry_after, used_up
from router.providers.management import ApiRequest

TIMEOUT_S = 30.0
ANSWER_MAX = 4 * 1024 * 1024


class ProviderClient:
    """
    Sends requests; a context manager.

    `hosts` are those that the operator wrote: a literal private address among them may be called,
    as for actions; `egress` are the ranges that names may resolve to beside public ones. Nothing
    is followed (redirects) or taken from the environment (proxies).
    """

    def __init__(
        self,
        hosts: Iterable[str],
        *,
        egress: Iterable[str] = (),
        timeout_s: float = TIMEOUT_S,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._http = async_client(egress, hosts, trust)
        self._timeout_s = timeout_s

    async def __aenter__(self) -> "ProviderClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def send(self, request: ApiRequest) -> ApiAnswer:
        """
        The answer, whatever its status.

        Raises:
            CallFailedError: there is none, or not in time, or it is too long.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._answer(request)
        except TimeoutError:
            raise CallFailedError(f"no answer within {self._timeout_s:g} s", arrived=True) from None
        except EgressRefused as error:
            raise CallFailedError(str(error), arrived=False) from None
        except httpx.HTTPError as error:
            raise _failed(error) from None
        except (httpx.InvalidURL, ValueError):
            raise CallFailedError(_MALFORMED, arrived=False) from None

    async def _answer(self, request: ApiRequest) -> ApiAnswer:
        # An answer that must not be unpacked cannot be a bomb.
        headers = [*request.headers, ("Accept-Encoding", "identity")]
        async with self._http.stream(
            request.method, request.url, headers=headers, content=request.body
        ) as response:
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > ANSWER_MAX:
                    raise CallFailedError("the answer is longer than 4 MiB", arrived=True)
            status, came = response.status_code, response.headers
            after = retry_after(came.get("retry-after"), came.get("date"))
            unlike = request.promise.broken_by(status, came.get("content-type", ""), bytes(body))
            return ApiAnswer(
                status,
                bytes(body),
                after,
                unlike if 200 <= status < 300 else None,
                used_up(
                    came.get("x-ratelimit-remaining"),
                    came.get("x-ratelimit-reset"),
                    came.get("date"),
                ),
                came.get("link"),
            )


def hosts_of(base: str) -> tuple[str, ...]:
    """The host that an operator wrote down in an address, for `ProviderClient`."""
    host = urlsplit(base).hostname
    return (host,) if host else ()


def _failed(error: httpx.HTTPError) -> CallFailedError:
    """Words of our own: an exception's text may quote a header or an address."""
    for kind, words, arrived in _FAILURES:
        if isinstance(error, kind):
            return CallFailedError(words, arrived=arrived)
    if isinstance(error, httpx.ConnectError):
        known = (words for sign, words in _NO_CONNECTION if sign in str(error))
        return CallFailedError(next(known, "no connection"), arrived=False)
    return CallFailedError("the connection broke", arrived=True)


_MALFORMED = "the request cannot be written: a malformed address or token"
_FAILURES: tuple[tuple[type[httpx.HTTPError], str, bool], ...] = (
    (httpx.ConnectTimeout, "no connection in time", False),
    (httpx.TimeoutException, "no answer in time", True),
    (httpx.RemoteProtocolError, "the answer is not acceptable HTTP, or broke off", True),
    (httpx.UnsupportedProtocol, _MALFORMED, False),
    (httpx.LocalProtocolError, _MALFORMED, False),
)
_NO_CONNECTION = (
    ("CERTIFICATE_VERIFY_FAILED", "the certificate was not accepted"),
    ("the name was not found", "the name was not found"),
)
