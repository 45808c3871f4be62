"""The router as an ASGI application, for those who have an ASGI server of their own."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from litestar import Litestar, asgi

from router.cli.main import explained
from router.cli.options import DEFAULT_RULES
from router.errors import RouterError
from router.serving.process import Process
from router.undumpable import make_undumpable
from router.wiring import launch
from router.wiring.loops import loops_of
from router.wiring.serve_options import ServeOptions
from router.wiring.server import Server

_FORWARDED = (b"forwarded", b"for=unknown")
"""With it nobody counts as on this machine: the server can stand behind a proxy on it."""


def create_app(rules: str | Path | None = None, *, admin: bool = False) -> "RouterApp":
    """
    Return the endpoints of a rules file, and what runs their jobs, as one Litestar application.

    `rules`: the file; None: that of ROUTER_RULES, else rules.yaml. `admin`: beside the endpoints,
    serve the admin API and the pages to requests whose Host `server.admin.hosts` names.
    """
    return RouterApp(Path(rules or os.environ.get("ROUTER_RULES") or DEFAULT_RULES), admin=admin)


class RouterApp(Litestar):
    """
    One router. Who mounts it in another application enters its `lifespan` there.

    That raises what `router serve` raises, after it has printed the same text to stderr.
    """

    def __init__(self, rules: Path, *, admin: bool) -> None:
        self._rules, self._admin, self._failed = rules, admin, False
        self._server: Server | None = None
        self._process: Process | None = None
        super().__init__(
            [asgi("/", is_mount=True, copy_scope=False)(self._answer)],
            lifespan=[lambda _app: self._running()],
            openapi_config=None,
            logging_config=None,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or run as long as the server does."""
        if scope["type"] != "lifespan":
            await super().__call__(self._below_mount(scope), receive, send)
            return

        async def briefly(message: Any) -> None:
            """Leave out Litestar's traceback of what is explained already."""
            await send(message | {"message": "no router started"} if self._failed else message)

        with suppress(RouterError):
            await super().__call__(scope, receive, briefly)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        ready = asyncio.get_running_loop().create_future()
        options = ServeOptions(self._rules, listens=False, on_ready=lambda: ready.set_result(None))
        make_undumpable()
        try:
            source = launch.prepared(options, os.environ)
            live = await asyncio.to_thread(source.build)
            served = asyncio.ensure_future(launch.run(options, source, live, self._serve))
            await asyncio.wait({served, ready}, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                raise RouterError(f"the router ended with {served.result()}")
        except RouterError as error:
            self._failed = True
            explained(error)
            raise
        served.add_done_callback(_end_process)
        try:
            yield
        finally:
            served.remove_done_callback(_end_process)
            if self._process is not None:
                self._process.stop()
            await served

    async def _serve(self, server: Server) -> int:
        self._server, self._process = server, server.process(loops_of(server))
        try:
            return await self._process.run(server.ready)
        finally:
            self._server = None

    def _below_mount(self, scope: Any) -> Any:
        """The scope with paths as they are without a mount, unless an endpoint has them whole."""
        raw = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
        if self._server is None or self._server.live.current.by_path.get(raw) is not None:
            return scope
        below = raw.removeprefix(scope.get("root_path", "").encode())
        if scope["path"] not in (unquote(raw), unquote(below)):  # cut, as by Litestar's mounts
            pieces = scope["path"].strip("/").count("/") + 1
            below = b"/" + b"/".join(raw.rsplit(b"/", pieces)[-pieces:])
        return {**scope, "raw_path": below, "path": unquote(below), "root_path": ""}

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        server = self._server
        if server is None:
            raise RuntimeError("the lifespan of the router's application does not run")
        if self._admin and server.live.current.by_path.get(scope["raw_path"]) is None:
            scope = {**scope, "headers": [*scope["headers"], _FORWARDED]}
            await server.admin_app.serve(scope, receive, send)
        else:
            await server.ingest.serve(scope, receive, send)


def _end_process(_served: "asyncio.Future[int]") -> None:
    """The store failed, or a part of the router: nothing more is accepted here."""
    os.kill(os.getpid(), signal.SIGTERM)
