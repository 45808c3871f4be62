"""The local target: the sender's request once more, to another address."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from router.cli.admin import tls_fault
from router.cli.listening.delivery import Arrived, Forwarded
from router.clock import Clock
from router.errors import UsageError
from router.model.delivery import REMOVED

if TYPE_CHECKING:
    import httpx

HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"}
    | {"te", "trailer", "transfer-encoding", "upgrade", "expect"}
)
_OURS = frozenset({"host", "content-length"})
"""Made anew for the local target."""

REACHED_WITHIN_S = 5.0

MARK = "router-delivery"
"""The one header that is added: the delivery's id, the same if it ever comes twice."""


def checked(url: str) -> str:
    """
    The address to forward to.

    Raises:
        UsageError: it is none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"--to takes a URL like http://localhost:3000/hook, not {url!r}")
    if parts.fragment:
        raise UsageError(f"--to takes a URL without #{parts.fragment[:20]}")
    return url if parts.path else urlunsplit(parts._replace(path="/"))


def url_of(to: str, arrived: Arrived) -> str:
    """The address with the sender's query behind its own; `[removed]` fields are left out."""
    query = _kept_query(arrived.query)
    if not query:
        return to
    return f"{to}{'&' if urlsplit(to).query else '?'}{query}"


def _kept_query(query: str) -> str:
    """The query as it was sent, piece by piece."""
    pieces = []
    for piece in query.split("&"):
        fields = parse_qsl(piece, keep_blank_values=True, max_num_fields=2) if piece else []
        if piece and not any(value == REMOVED for _, value in fields):
            pieces.append("".join(c if "!" <= c <= "~" and c != "#" else _quoted(c) for c in piece))
    return "&".join(pieces)


def _quoted(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("latin-1", "replace"))


def headers_of(arrived: Arrived) -> list[tuple[str, str]]:
    """The sender's headers without those of one hop, without `[removed]` ones, and our mark."""
    named = {
        word.strip().lower()
        for name, value in arrived.headers
        if name == "connection"
        for word in value.split(",")
    }
    gone = HOP_BY_HOP | _OURS | named | {MARK}
    kept = [(n, v) for n, v in arrived.headers if n not in gone and REMOVED not in v]
    return [*kept, (MARK, arrived.id)]


async def unreachable(to: str) -> str | None:
    """Why a program at this address could not be forwarded to now; None: something listens."""
    parts = urlsplit(to)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(REACHED_WITHIN_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except TimeoutError:
        return "no answer in time"
    except OSError:
        return "nothing listens there"
    writer.close()
    return None


class LocalTarget:
    """Sends deliveries to one address, each as it came."""

    def __init__(
        self,
        to: str,
        client: "httpx.AsyncClient",
        clock: Clock,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.to = to
        self._client = client
        self._clock = clock
        self._timer = timer

    async def forward(self, arrived: Arrived, attempt: int) -> Forwarded:
        """One try. Whatever the local machine does is an answer, never an error."""
        import httpx

        url = url_of(self.to, arrived)
        at, began = self._clock.now(), self._timer()
        status, error, unsendable = None, None, False
        try:
            request = httpx.Request(
                arrived.method,
                url,
                headers=[
                    (n.encode("latin-1"), v.encode("latin-1")) for n, v in headers_of(arrived)
                ],
                content=arrived.body,
                extensions={"timeout": self._client.timeout.as_dict()},
            )
            async with _streamed(self._client, request) as response:
                status = response.status_code
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as problem:
            error = _words(problem)
            unsendable = isinstance(
                problem, httpx.LocalProtocolError | httpx.InvalidURL | ValueError
            )
        took = round((self._timer() - began) * 1000, 1)
        return Forwarded(arrived, url, at, attempt, status, took, error, unsendable=unsendable)


class _streamed:  # noqa: N801 - used like a function
    """The answer's head; of its body nothing is kept, and no more is read than is needed."""

    def __init__(self, client: "httpx.AsyncClient", request: "httpx.Request") -> None:
        self._client = client
        self._request = request

    async def __aenter__(self) -> "httpx.Response":
        self._response = await self._client.send(self._request, stream=True)
        read = 0
        async for chunk in self._response.aiter_raw():
            read += len(chunk)
            if read > 1_048_576:
                break
        return self._response

    async def __aexit__(self, *_: object) -> None:
        await self._response.aclose()


def _words(problem: Exception) -> str:
    import httpx

    if isinstance(problem, httpx.ConnectError):
        return tls_fault(problem) or "nothing listens there"
    if isinstance(problem, httpx.TimeoutException):
        return "no answer in time"
    return f"{type(problem).__name__}: {problem}"[:200]
