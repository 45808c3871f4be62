"""
The admin door: health, metrics and the operator's verbs, for people and tools we know.

Every route is a row of one table. A request passes, in order: Host, path, method, Origin, token,
body. State changes by POST only. Nothing here may ever be slower for ingest than one dict lookup.
"""

import hmac
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qs

import msgspec

from router import log, metrics
from router.errors import NotFound, RouterError, StoreUnavailable, UsageError
from router.web.peer import is_loopback, parse_address
from router.web.ports import Operator

BODY_MAX = 1_048_576
REFUSALS_DEFAULT, REFUSALS_MAX = 100, 1_000
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
PROBLEM = "application/problem+json"

Headers = Sequence[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

Access = Literal["open", "loopback", "token"]
"""open: everybody; loopback: this machine, or a token; token: a token, always."""

_SAFE = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
_FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip"})


class Call(NamedTuple):
    """What a route's handler may look at."""

    query: dict[str, str]
    body: dict[str, Any]


class Page(NamedTuple):
    """What a route answers."""

    status: int
    content_type: str
    body: bytes


class Route(NamedTuple):
    """One row of the table."""

    method: Literal["GET", "POST"]
    access: Access
    handle: Callable[[Call], Awaitable[Page]]


class Rejected(Exception):
    """The request is not acceptable; the text says why, for whoever operates this."""

    def __init__(self, status: int, detail: str, *extra: tuple[bytes, bytes]) -> None:
        super().__init__(detail)
        self.status = status
        self.extra = extra


class Admin:
    """
    One ASGI application for every path of the admin listener.

    `token` None asks for none (`--dev`). `hosts` are names, without port, that a Host header may
    carry beside the loopback names.
    """

    def __init__(
        self,
        operator: Operator,
        *,
        token: str | None,
        render_metrics: Callable[[], bytes],
        hosts: Collection[str] = (),
    ) -> None:
        self._operator = operator
        self._token = None if token is None else token.encode("utf-8")
        self._render_metrics = render_metrics
        self._hosts = {"localhost", *(name.lower() for name in hosts if not _is_any(name))}
        self._log = log.get("web.admin")
        self.routes: dict[str, Route] = {
            "/livez": Route("GET", "open", self._livez),
            "/readyz": Route("GET", "open", self._readyz),
            "/metrics": Route("GET", "loopback", self._metrics),
            "/api/status": Route("GET", "token", self._status),
            "/api/refusals": Route("GET", "token", self._refusals),
            "/api/replay": Route("POST", "token", self._replay),
            "/api/cancel": Route("POST", "token", self._cancel),
            "/api/revive": Route("POST", "token", self._revive),
            "/api/reload": Route("POST", "token", self._reload),
        }

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        extra: tuple[tuple[bytes, bytes], ...] = ()
        try:
            page = await self._page(scope, receive)
        except Rejected as rejected:
            page, extra = _problem(rejected.status, str(rejected)), rejected.extra
        except RouterError as error:
            page = _problem(_status_of(error), str(error))
        except Exception as error:  # noqa: BLE001 - the last net of a request
            self._log.error("admin request failed", path=scope["path"], exc_info=error)
            page = _problem(503, "the router failed; its log says why")
        await _send(send, page, extra)

    async def _page(self, scope: Any, receive: Receive) -> Page:
        headers: Headers = scope["headers"]
        host = self._check_host(headers)
        route = self.routes.get(scope["raw_path"].decode("ascii"))
        if route is None:
            raise Rejected(404, "no such page")
        if scope["method"] != route.method:
            allow = (b"allow", route.method.encode("ascii"))
            raise Rejected(405, f"use {route.method}", allow)
        _check_origin(headers, scope["scheme"], host)
        self._check_token(route.access, scope, headers)
        body = await _body(receive, headers) if route.method == "POST" else {}
        return await route.handle(Call(_query(scope["query_string"]), body))

    def _check_host(self, headers: Headers) -> str:
        """Against DNS rebinding: a page of another name must not reach us through a browser."""
        host = _header(headers, b"host") or ""
        name = _host_name(host)
        if name in self._hosts or is_loopback(name):
            return host.lower()
        raise Rejected(400, "this name is not served here; add it to the admin address")

    def _check_token(self, access: Access, scope: Any, headers: Headers) -> None:
        if self._token is None or access == "open":
            return
        if access == "loopback" and _is_local(scope["client"], headers):
            return
        scheme, _, given = (_header(headers, b"authorization") or "").partition(" ")
        right = hmac.compare_digest(given.strip().encode("latin-1"), self._token)
        if scheme.lower() != "bearer" or not right:
            raise Rejected(401, "a token is needed", (b"www-authenticate", b"Bearer"))

    async def _livez(self, _: Call) -> Page:
        return Page(200, TEXT, b"ok\n")

    async def _readyz(self, _: Call) -> Page:
        if await self._operator.ready():
            return Page(200, TEXT, b"ready\n")
        return Page(503, TEXT, b"not ready\n")

    async def _metrics(self, _: Call) -> Page:
        return Page(200, metrics.CONTENT_TYPE, self._render_metrics())

    async def _status(self, _: Call) -> Page:
        return _json(await self._operator.status())

    async def _refusals(self, call: Call) -> Page:
        text = call.query.get("limit", str(REFUSALS_DEFAULT))
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise UsageError("limit is a number")
        return _json({"refusals": self._operator.refusals(min(int(text), REFUSALS_MAX))})

    async def _replay(self, call: Call) -> Page:
        return _json(await self._operator.replay(call.body))

    async def _cancel(self, call: Call) -> Page:
        return _json(await self._operator.cancel(call.body))

    async def _revive(self, call: Call) -> Page:
        return _json(await self._operator.revive(call.body))

    async def _reload(self, _: Call) -> Page:
        return _json(await self._operator.reload())


def _status_of(error: RouterError) -> int:
    match error:
        case NotFound():
            return 404
        case UsageError():
            return 400
        case StoreUnavailable():
            return 503
    return 409  # the ledger or the file stands against it; the text says how


def _json(value: Any) -> Page:
    return Page(200, JSON, msgspec.json.encode(value))


def _problem(status: int, detail: str) -> Page:
    return Page(status, PROBLEM, msgspec.json.encode({"status": status, "detail": detail}))


async def _send(send: Send, page: Page, extra: Sequence[tuple[bytes, bytes]]) -> None:
    headers = [
        (b"content-type", page.content_type.encode("ascii")),
        (b"content-length", b"%d" % len(page.body)),
        *_SAFE,
        *extra,
    ]
    if page.status >= 400:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": page.status, "headers": headers})
    await send({"type": "http.response.body", "body": page.body})


def _header(headers: Headers, wanted: bytes) -> str | None:
    """The one value of a header; given twice it is as good as wrong."""
    values = [value for name, value in headers if name == wanted]
    if len(values) > 1:
        raise Rejected(400, f"{wanted.decode('ascii')} is given twice")
    return values[0].decode("latin-1") if values else None


def _host_name(host: str) -> str:
    """The name of a Host header, without port and brackets; empty when it is malformed."""
    text = host.lower()
    if text.startswith("["):
        name, bracket, port = text[1:].partition("]")
        port = port.removeprefix(":") if bracket else "?"
    else:
        name, _, port = text.partition(":")
    return name if not port or (port.isascii() and port.isdigit()) else ""


def _is_any(name: str) -> bool:
    """0.0.0.0 and :: are where to listen, not a name that anybody calls."""
    parsed = parse_address(name)
    return parsed is not None and parsed.is_unspecified


def _is_local(client: tuple[str, int] | None, headers: Headers) -> bool:
    """On this machine itself, and not through a proxy that runs on it."""
    forwarded = any(name in _FORWARDED for name, _ in headers)
    return client is not None and is_loopback(client[0]) and not forwarded


def _check_origin(headers: Headers, scheme: str, host: str) -> None:
    """A browser that comes from elsewhere says so: turn it away, whatever it can prove."""
    origin = _header(headers, b"origin")
    site = _header(headers, b"sec-fetch-site")
    if origin is not None and origin.lower() != f"{scheme}://{host}":
        raise Rejected(403, "requests from other sites are not allowed")
    if site not in (None, "same-origin", "none"):
        raise Rejected(403, "requests from other sites are not allowed")


def _query(query_string: bytes) -> dict[str, str]:
    pairs = parse_qs(query_string.decode("latin-1"), max_num_fields=20)
    return {name: values[-1] for name, values in pairs.items()}


async def _body(receive: Receive, headers: Headers) -> dict[str, Any]:
    """The JSON object of the request; empty for no body."""
    data = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Rejected(400, "the request ended early")
        data += message.get("body", b"")
        more = message.get("more_body", False)
        if len(data) > BODY_MAX:
            raise Rejected(413, f"a body has at most {BODY_MAX} bytes")
    if not data:
        return {}
    if (_header(headers, b"content-type") or "").partition(";")[0].strip().lower() != JSON:
        raise Rejected(415, "send application/json")
    try:
        return msgspec.json.decode(bytes(data), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Rejected(400, f"the body is not a JSON object: {error}") from error
