"""The router as an ASGI application, for those who have an ASGI server of their own."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from litestar import Litestar, asgi
from litestar.exceptions import ServiceUnavailableException

from router.cli.main import explained
from router.cli.options import DEFAULT_RULES
from router.errors import RouterError
from router.undumpable import make_undumpable
from router.web.answers import reply_headers
from router.web.ingest import ClientGone, Ingest
from router.web.wire_request import WireRequest
from router.wiring import launch
from router.wiring.server import Server

_FORWARDED = (b"forwarded", b"for=unknown")
"""With it nobody counts as on this machine: the server can stand behind a proxy on it."""


def create_app(rules: str | Path | None = None, *, admin: bool = False) -> "RouterApp":
    """
    Return the endpoints of a rules file, and what runs their jobs, as one Litestar application.

    `rules`: the file; None: that of ROUTER_RULES, else rules.yaml. `admin`: serve the admin API and
    the pages at every path that is no endpoint's, to hosts that `server.admin.hosts` names.
    """
    return RouterApp(Path(rules or os.environ.get("ROUTER_RULES") or DEFAULT_RULES), admin=admin)


class RouterApp(Litestar):
    """
    One router. An application that mounts it enters its `lifespan`, which runs the router.

    That prints to stderr why it cannot start, as `router serve` does, and raises the same errors.
    """

    def __init__(self, rules: Path, *, admin: bool) -> None:
        self._rules, self._admin = rules, admin
        self._explained: dict[str, str] = {}
        self._server: Server | None = None
        mount = asgi("/", is_mount=True, copy_scope=False)(self._answer)
        super().__init__([mount], lifespan=[lambda _app: self._running()], openapi_config=None)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or run as long as the server does."""

        async def briefly(message: Any) -> None:
            await send({**message, **self._explained})  # in place of Litestar's traceback

        if scope["type"] == "lifespan":
            with suppress(RouterError):
                await super().__call__(scope, receive, briefly)
        else:
            await super().__call__(self._below_mount(scope), receive, send)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        make_undumpable()
        try:
            async with launch.embedded(self._rules, os.environ) as self._server:
                yield
        except RouterError as error:
            self._explained = {"message": "the router cannot start; see above"}
            explained(error)
            raise
        finally:
            self._server = None

    def _below_mount(self, scope: Any) -> Any:
        """The scope with paths as they are without a mount, unless an endpoint has them whole."""
        raw = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
        if self._server is not None and raw in self._server.live.current.by_path:
            return {**scope, "raw_path": raw}
        below = raw.removeprefix(scope.get("root_path", "").encode())
        if scope["path"] not in (unquote(raw), unquote(below)):  # cut, as by Litestar's mounts
            pieces = scope["path"].strip("/").count("/") + 1
            below = b"/" + b"/".join(raw.rsplit(b"/", pieces)[-pieces:])
        return {**scope, "raw_path": below, "path": unquote(below), "root_path": ""}

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
        elif (server := self._server) is None:
            raise ServiceUnavailableException("no router runs here; is its lifespan entered?")
        elif self._admin and scope["raw_path"] not in server.live.current.by_path:
            headers = [*scope["headers"], _FORWARDED]
            await server.admin_app.serve({**scope, "headers": headers}, receive, send)
        else:
            with suppress(ClientGone):
                await _answered(server.ingest, scope, receive, send)


async def _answered(ingest: Ingest, scope: Any, receive: Any, send: Any) -> None:
    async def body() -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientGone
            more = message.get("more_body", False)
            yield message.get("body", b"")

    headers = tuple((name, value.strip(b" \t")) for name, value in scope["headers"])
    target, client = (scope["raw_path"], scope["query_string"]), scope["client"]
    request = WireRequest(scope["method"], target, headers, client[0] if client else "")
    request.length = int(dict(headers).get(b"content-length", 0))
    reply = await ingest.ask(request, body())
    start = {"status": reply.status, "headers": list(reply_headers(reply))}
    await send({"type": "http.response.start", **start})
    await send({"type": "http.response.body", "body": reply.body})
