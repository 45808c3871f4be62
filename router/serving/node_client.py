"""The call of another node's operator interface: at its own address, bounded, in our own words."""

import asyncio
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from router.errors import NotFound, RouterError, UsageError
from router.operator.protocol import NODE_HEADER
from router.operator.times import undated
from router.web.tls import first_certificate

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

ANSWER_S = 2.0
ANSWER_MAX = 8 * 1024 * 1024
_REFUSED = "it does not accept our token: name one in server.admin.tokens, the same for all routers"


class NotAsked(RouterError):
    """A node gave no answer; the text says why."""


class NodeClient:
    """
    Asks nodes at the addresses that they have registered. `token` is what all of them accept;
    `tls`: this node's own certificate file, None: it has none. With one, others must have one too:
    of an authority that the system trusts (or SSL_CERT_FILE), or this very one.

    Nothing is followed (redirects) or taken from the environment (proxies).
    """

    def __init__(
        self, token: Callable[[], str], *, tls: str | None = None, within_s: float = ANSWER_S
    ) -> None:
        self._token, self._tls, self._within_s = token, tls, within_s
        self._made: asyncio.Future[httpx.AsyncClient] | None = None

    async def ask(self, address: str, node: str, path: str, query: Any, kind: type[T]) -> T:
        """
        What the node of this number answers for itself alone.

        Raises:
            NotAsked: it does not.
            NotFound: it has no such thing.
        """
        if self._tls is not None and not address.startswith("https:"):
            raise NotAsked("its admin listener has no certificate, as ours has")
        try:
            async with asyncio.timeout(self._within_s):
                status, body = await self._answer(f"{address}{path}", node, query)
        except TimeoutError:
            raise NotAsked(f"no answer from {address} within {self._within_s:g} s") from None
        return _read(status, body, kind)

    async def _answer(self, url: str, node: str, query: Any) -> tuple[int, bytes]:
        import httpx  # noqa: PLC0415 - most routers never need it

        client = await self._client()
        headers = {"authorization": f"Bearer {self._token()}", NODE_HEADER: node}
        try:
            async with client.stream("GET", url, params=query, headers=headers) as response:
                body = bytearray()
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > ANSWER_MAX:
                        raise NotAsked("its answer is too long")
                return response.status_code, bytes(body)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise NotAsked(_words(error, url.partition("/api/")[0])) from None

    async def _client(self) -> "httpx.AsyncClient":
        if self._made is None:
            self._made = asyncio.ensure_future(asyncio.to_thread(_make, self._tls))
        return await asyncio.shield(self._made)

    async def close(self) -> None:
        """Close its connections."""
        if self._made is not None:
            await (await self._made).aclose()


def _make(tls: str | None) -> "httpx.AsyncClient":
    import httpx  # noqa: PLC0415 - half a second with all that it needs

    context = httpx.create_ssl_context()
    if tls is not None:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=first_certificate(tls))
    return httpx.AsyncClient(
        verify=context,
        trust_env=False,
        follow_redirects=False,
        headers={"accept-encoding": "identity"},
    )


def _read(status: int, body: bytes, kind: type[T]) -> T:
    if status in (401, 403):
        raise NotAsked(_REFUSED)
    try:
        answer = msgspec.json.decode(body)
        if status == 200:
            return msgspec.convert(undated(answer, kind), kind)
    except (msgspec.MsgspecError, UsageError):
        raise NotAsked("it answers, but not as a router of this version") from None
    detail = str(answer.get("detail", ""))[:200] if isinstance(answer, dict) else ""
    if status == 404 and detail:
        raise NotFound(detail)
    raise NotAsked(f"it answers {status}" + (f": {detail}" if detail else ""))


def _words(error: Exception, address: str) -> str:
    """Our own: an exception's text may quote a header."""
    import httpx  # noqa: PLC0415 - it is there by now

    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return f"the certificate at {address} is not trusted (SSL_CERT_FILE names an authority)"
    if isinstance(error, httpx.ConnectError):
        return f"no connection to {address}"
    return f"no proper answer from {address}"
