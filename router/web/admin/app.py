"""
One ASGI application for every path of the admin listener.

Every route is a row of one table. A request passes, in order: Host, path, method, Origin, token,
role, query, body. State changes by POST only, for operators only. Nothing here may ever be slower
for ingest than one dict lookup.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from router import log
from router.clock import Clock
from router.errors import RouterError
from router.web.admin.asking import Query
from router.web.admin.browsers import Hosts, check_origin, header, is_on_this_machine
from router.web.admin.call import (
    JSON,
    PROBLEM,
    Call,
    Headers,
    Receive,
    Rejected,
    Route,
    RouteAnswer,
    Send,
    Stream,
)
from router.web.admin.callers import (
    ANYONE,
    NOBODY,
    Caller,
    Callers,
    TooManyGuesses,
    WrongToken,
)
from router.web.admin.faults import asked_too_often, read_whole, status_of
from router.web.client_address import Peers

BODY_MAX = 1_048_576

_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
_CHALLENGE = (b"www-authenticate", b"Bearer")


class PagesPort(Protocol):
    """The pages for people, at the paths that are no route's; see router/web/pages."""

    def serves(self, raw_path: bytes) -> bool:
        """Whether a path is a page's, known or not."""
        ...

    async def answer(
        self, scope: Any, receive: Receive, host: str, peer: str
    ) -> RouteAnswer | Stream:
        """One request, whose Host has been checked; it checks everything else itself."""
        ...


class Admin:
    """
    Answers by `routes`, for `callers` on these `hosts`.

    `mask` removes secrets from JSON that goes out: a target may have sent ours back to us. `peers`
    are the proxies that may say who calls.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        *,
        callers: Callers,
        hosts: Hosts,
        clock: Clock,
        peers: Peers | None = None,
        mask: Callable[[bytes], bytes] = bytes,
        window: PagesPort | None = None,
    ) -> None:
        self.routes = tuple(routes)
        self._callers = callers
        self._hosts = hosts
        self._clock = clock
        self._peers = peers or Peers()
        self._mask = mask
        self._window = window
        self._log = log.get("web.admin")
        self._exact: dict[str, dict[str, Route]] = {}
        self._patterns: list[tuple[re.Pattern[str], dict[str, Route]]] = []
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        by_method = self._exact.setdefault(route.path, {})
        by_method[route.method] = route
        if "{" in route.path and len(by_method) == 1:
            pattern = re.sub(r"\{(\w+)\}", rf"(?P<\1>{_NAME.pattern})", route.path)
            self._patterns.append((re.compile(pattern), by_method))

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        try:
            page = await self._page(scope, receive)
        except Rejected as rejected:
            page = problem(rejected.status, str(rejected), *rejected.extra)
        except RouterError as error:
            page = problem(status_of(error), str(error))
        except asyncio.CancelledError:  # the listener ends, its patience too
            return
        except Exception as error:  # noqa: BLE001 - the last net of a request
            self._log.error("admin request failed", path=scope["path"], exc_info=error)
            page = problem(503, "the router failed; its log says why")
        if isinstance(page, Stream):
            await _stream(receive, send, page)
        else:
            await _send(send, page, self._mask)

    async def _page(self, scope: Any, receive: Receive) -> RouteAnswer | Stream:
        headers: Headers = scope["headers"]
        host = self._hosts.check(headers)
        peer = scope["client"][0] if scope["client"] else ""
        peer = self._peers.sender(peer, headers)
        if self._window is not None and self._window.serves(scope["raw_path"]):
            return await self._window.answer(scope, receive, host, peer)
        route, place = self._route(scope)
        check_origin(headers, scope["scheme"], host)
        caller = await self._caller(route, scope, headers, peer)
        query = Query(scope["query_string"], route.query, self._clock.now())
        body = await _body(receive, headers, route.body) if route.body else None
        return await route.handle(Call(caller, query, place, body, headers, peer))

    def _route(self, scope: Any) -> tuple[Route, Mapping[str, str]]:
        path = scope["raw_path"].decode("latin-1")
        found, place = None if "{" in path else self._exact.get(path), {}
        for pattern, by_method in self._patterns if found is None else ():
            match = pattern.fullmatch(path)
            if match is not None:
                found, place = by_method, match.groupdict()
        if found is None:
            raise Rejected(404, "no such page")
        route = found.get(scope["method"])
        if route is None:
            allow = ", ".join(sorted(found))
            raise Rejected(405, f"use {allow}", (b"allow", allow.encode("ascii")))
        return route, place

    async def _caller(self, route: Route, scope: Any, headers: Headers, peer: str) -> Caller:
        if route.access == "open":
            return NOBODY
        if not self._callers.asked:
            return ANYONE
        if route.access == "loopback" and is_on_this_machine(scope["client"], headers):
            return NOBODY
        caller = await self._known(headers, peer)
        if route.access == "operator" and caller.role != "operator":
            raise Rejected(403, f"the token {caller.name} may look, not change")
        if route.payloads and not caller.bodies:
            raise Rejected(403, f"the token {caller.name} may not see payloads")
        return caller

    async def _known(self, headers: Headers, peer: str) -> Caller:
        scheme, _, given = (header(headers, b"authorization") or "").partition(" ")
        given = given.strip()
        if scheme.lower() != "bearer" or not given:
            raise Rejected(401, "a token is needed", _CHALLENGE)
        try:
            return await self._callers.of(given.encode("latin-1"), peer)
        except WrongToken as error:
            if error.fresh:
                self._log.warning("wrong token", peer=peer)
            raise Rejected(401, "this token opens nothing here", _CHALLENGE) from None
        except TooManyGuesses as error:
            raise asked_too_often(error) from None


def problem(status: int, detail: str, *extra: tuple[bytes, bytes]) -> RouteAnswer:
    """What went wrong, in the words of whoever found it."""
    told = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return RouteAnswer(status, PROBLEM, msgspec.json.encode(told), extra)


async def _send(send: Send, page: RouteAnswer, mask: Callable[[bytes], bytes]) -> None:
    body = mask(page.body) if page.content_type in (JSON, PROBLEM) else page.body
    length = (b"content-length", b"%d" % len(body))
    headers = [*_head(page.content_type, page.policy, page.extra), length, *page.extra]
    if page.status >= 400:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": page.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(receive: Receive, send: Send, page: Stream) -> None:
    headers = _head(page.content_type, page.policy)
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await page.write(receive, send)


def _head(content_type: str, policy: bytes, own: Headers = ()) -> list[tuple[bytes, bytes]]:
    """What every answer has; a header that the answer has of its `own` takes the place of ours."""
    kind = (b"content-type", content_type.encode("ascii"))
    given = {name for name, _ in own}
    ours = (kind, (b"content-security-policy", policy), *_SAFE)
    return [line for line in ours if line[0] not in given]


async def _body(receive: Receive, headers: Headers, wanted: type[msgspec.Struct]) -> Any:
    """The request's JSON as the Struct that is wanted; no body is an empty object."""
    data = await read_whole(receive, BODY_MAX, "a body")
    kind = (header(headers, b"content-type") or "").partition(";")[0].strip().lower()
    if data and kind != JSON:
        raise Rejected(415, "send application/json")
    try:
        return msgspec.json.decode(bytes(data) or b"{}", type=wanted)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Rejected(400, f"the body is not what this takes: {error}") from None
