"""
What stands in front of everything on the admin listener.

It checks the Host header, adds the headers that keep browsers strict, and answers the probes. The
rest is Litestar's application, which is built when the public listener already answers: importing
and building it takes half a second.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from router import log
from router.errors import UsageError
from router.operator.attention import HELD
from router.web.admin.browsers import Hosts, check_origin, header, is_on_this_machine
from router.web.admin.problems import PROBLEM, Rejected, problem_body, rejection
from router.web.admin.proof import NONCE, PROOF, proof
from router.web.admin.query import Query
from router.web.client_address import Peers

STRICT = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Nothing in an answer may load, run, post or be framed."""
SAFE = (
    (b"content-security-policy", STRICT),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_CLOSE = (b"connection", b"close")
_PROBLEM = (b"content-type", PROBLEM.encode("ascii"))
_TEXT = (b"content-type", b"text/plain; charset=utf-8")
_PLAIN_PATH = re.compile(rb"/|(/[A-Za-z0-9._-]{1,128}){1,8}")
_NO_PATH = "/ "
_METHODS = ("GET", "HEAD", "POST")

Application = Callable[[Any, Any, Any], Awaitable[None]]


class AdminApp:
    """
    The ASGI application of the admin listener.

    `build` makes the application behind it, in a thread. `peers` are the proxies that may say who
    calls; `unready` says why no delivery can be committed, None: one can; `held`: no job runs.
    `local` is the token beside the store, and the store: the probes prove that we have them.
    """

    def __init__(
        self,
        build: Callable[[], Application],
        *,
        hosts: Hosts,
        unready: Callable[[], Awaitable[str | None]],
        held: Callable[[], bool] = lambda: False,
        peers: Peers | None = None,
        local: tuple[str, str] | None = None,
    ) -> None:
        self._build = build
        self.hosts = hosts
        self._unready, self._held = unready, held
        self._peers, self._local = peers or Peers(), local
        self._built: asyncio.Future[Application] | None = None
        self._log = log.get("web.admin")

    def begin(self) -> "asyncio.Future[Application]":
        """Build the application behind this, unless that has begun."""
        if self._built is None:
            self._built = asyncio.ensure_future(asyncio.to_thread(self._build))
        return self._built

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        send = _secured(send)
        try:
            await self._answer(scope, receive, send)
        except (Rejected, UsageError) as error:
            found = error if isinstance(error, Rejected) else rejection(error)
            head = [(n.encode("ascii"), v.encode("ascii")) for n, v in found.headers.items()]
            await _send(send, found.status, problem_body(found), _PROBLEM, *head)
        except asyncio.CancelledError:  # the listener ends, its patience too
            return

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        headers, raw_path = scope["headers"], scope["raw_path"]
        host = self.hosts.check(headers)
        if raw_path in (b"/livez", b"/readyz"):
            await self._probe(scope, host, send)
            return
        client = scope["client"][0] if scope["client"] else ""
        state = {"host": host, "peer": self._peers.sender(client, headers)}
        scope = {**scope, "state": state}
        if not _PLAIN_PATH.fullmatch(raw_path):  # Litestar takes //x, /x/ and /%78 for /x
            scope["path"] = _NO_PATH
        if scope["method"] not in _METHODS:  # Litestar answers OPTIONS before any guard
            scope["method"] = "OTHER"
        await (await self._application())(scope, receive, send)

    async def _probe(self, scope: Any, host: str, send: Any) -> None:
        if scope["method"] != "GET":
            raise Rejected(405, "use GET", {"allow": "GET"})
        check_origin(scope["headers"], scope["scheme"], host)
        Query(scope["query_string"], (), 0)
        if scope["raw_path"] == b"/livez":
            status, body = 200, b"ok\n"
        else:
            why = await self._unready()
            status = 200 if why is None else 503
            text = "ready\n" if why is None else f"not ready: {why}\n"
            body = f"{text}{HELD}\n".encode() if self._held() else text.encode()
        await _send(send, status, body, _TEXT, *self._proof(scope))

    def _proof(self, scope: Any) -> list[tuple[bytes, bytes]]:
        """A proof of `local` for a command on this machine; others could guess tokens by it."""
        nonce = header(scope["headers"], NONCE.encode("ascii"))
        if nonce is None or self._local is None:
            return []
        if not is_on_this_machine(scope["client"], scope["headers"], scope["server"][0]):
            return []
        token, store = self._local
        answers = (proof(token, of, nonce, scope["server"]) for of in ("", store))
        return [(PROOF.encode("ascii"), " ".join(answers).encode("ascii"))]

    async def _application(self) -> Application:
        try:
            return await asyncio.shield(self.begin())
        except Exception as error:  # noqa: BLE001 - the last net of a request
            self._log.error("the admin application cannot be built", exc_info=error)
            raise Rejected(503, "the router failed; its log says why") from None


def _secured(send: Any) -> Any:
    """`send`, with our headers where an answer has none of its own; refusals end connections."""

    async def secured(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message["headers"]}
            ours = (*SAFE, _CLOSE) if message["status"] >= 400 else SAFE
            headers = [*message["headers"], *(line for line in ours if line[0] not in own)]
            message = {**message, "headers": headers}
        await send(message)

    return secured


async def _send(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", b"%d" % len(body))
    head = {"type": "http.response.start", "status": status, "headers": [*headers, length]}
    await send(head)
    await send({"type": "http.response.body", "body": body})
