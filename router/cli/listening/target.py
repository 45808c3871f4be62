"""The local target: the sender's request once more, to another address."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx
import msgspec

from router.cli.admin import no_answer
from router.cli.options import whole_url
from router.clock import Clock
from router.errors import UsageError
from router.model.delivery import REMOVED
from router.operator.followed_answers import FollowedDelivery

HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"}
    | {"te", "trailer", "transfer-encoding", "upgrade", "expect"}
)
_OURS = frozenset({"host", "content-length"})
"""Made anew for the local target."""

REACHED_WITHIN_S = 5.0
BODY_READ_MAX = 1_048_576

MARK = "router-delivery"
"""The one header that is added: the delivery's id, the same if it ever comes twice."""


def checked(to: str) -> str:
    """
    The address to forward to, of `3000`, `localhost:3000/hook` or a URL.

    Raises:
        UsageError: it is none.
    """
    url = whole_url(to)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(
            f"--to takes a port (3000), HOST:PORT/PATH or a URL (http://localhost:3000/hook), "
            f"not {to!r}"
        )
    if parts.fragment:
        raise UsageError(f"--to takes a URL without #{parts.fragment[:20]}")
    return url if parts.path else urlunsplit(parts._replace(path="/"))


def url_of(to: str, arrived: FollowedDelivery) -> str:
    """The address with the sender's query behind its own; `[removed]` fields are left out."""
    pieces = []
    for piece in filter(None, arrived.query.split("&")):
        fields = parse_qsl(piece, keep_blank_values=True, max_num_fields=2)
        if not any(value == REMOVED for _, value in fields):
            pieces.append("".join(c if "!" <= c <= "~" and c != "#" else _quoted(c) for c in piece))
    sign = "&" if urlsplit(to).query else "?"
    return f"{to}{sign}{'&'.join(pieces)}" if pieces else to


def _quoted(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("latin-1", "replace"))


def headers_of(arrived: FollowedDelivery) -> list[tuple[str, str]]:
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


class Forwarded(msgspec.Struct, frozen=True):
    """
    One try to forward a delivery. `status` None: no answer came, `error` says why; `unsendable`:
    and none ever will, for it cannot be put into a request.

    `at` is Unix milliseconds; `again_in_s` is set when it will be tried again by itself.
    """

    arrived: FollowedDelivery
    url: str
    at: int
    attempt: int
    status: int | None
    took_ms: float
    error: str | None = None
    again_in_s: float | None = None
    saved: str | None = None
    unsendable: bool = False

    @property
    def ok(self) -> bool:
        """Whether the local target accepted it."""
        return self.status is not None and 200 <= self.status < 300

    def as_json(self) -> dict[str, Any]:
        """As one JSON object; no body."""
        arrived = self.arrived
        return {
            "at": self.at,
            "delivery": arrived.id,
            "endpoint": arrived.endpoint,
            "events": [event.name for event in arrived.events],
            "received_at": arrived.received_at,
            "url": self.url,
            "status": self.status,
            "ms": self.took_ms,
            "attempt": self.attempt,
            "error": self.error,
            "again_in_s": self.again_in_s,
            "saved": self.saved,
        }


@dataclass(eq=False)
class LocalTarget:
    """Sends deliveries to one address, each as it came."""

    to: str
    client: httpx.AsyncClient
    clock: Clock
    timer: Callable[[], float] = time.perf_counter

    async def forward(self, arrived: FollowedDelivery, attempt: int) -> Forwarded:
        """One try. Whatever the local machine does is an answer, never an error."""
        url = url_of(self.to, arrived)
        at, began = self.clock.now(), self.timer()
        status, error, unsendable = None, None, False
        try:
            request = httpx.Request(
                arrived.method,
                url,
                headers=[
                    (n.encode("latin-1"), v.encode("latin-1")) for n, v in headers_of(arrived)
                ],
                content=arrived.body,
                extensions={"timeout": self.client.timeout.as_dict()},
            )
            async with aclosing(await self.client.send(request, stream=True)) as response:
                # Of the body nothing is kept, and no more is read than is needed.
                read = 0
                async for chunk in response.aiter_raw():
                    read += len(chunk)
                    if read > BODY_READ_MAX:
                        break
                status = response.status_code
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as problem:
            error = no_answer(problem) or f"{type(problem).__name__}: {problem}"[:200]
            unsendable = isinstance(
                problem, httpx.LocalProtocolError | httpx.InvalidURL | ValueError
            )
        took = round((self.timer() - began) * 1000, 1)
        return Forwarded(arrived, url, at, attempt, status, took, error, unsendable=unsendable)
