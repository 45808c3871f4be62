"""The two Litestar applications: the public one is the door and nothing else."""

from typing import Any, Protocol

from litestar import Litestar, Request, Response, asgi
from litestar.exceptions import HTTPException
from litestar.types import Receive, Scope, Send

from router.web.connections import error_body

_WORDS = {400: "malformed_request", 404: "not_found", 405: "method_not_allowed"}


class Mountable(Protocol):
    """One ASGI application for every path of a listener."""

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None: ...


def public_app(door: Mountable) -> Litestar:
    """Everything the public listener serves: `door`, at every path."""
    return _mounted(door)


def admin_app(admin: Mountable) -> Litestar:
    """Everything the admin listener serves."""
    return _mounted(admin)


def _mounted(application: Mountable) -> Litestar:
    return Litestar(
        route_handlers=[asgi("/", is_mount=True, copy_scope=False)(application.serve)],
        openapi_config=None,
        logging_config=None,
        debug=False,
        exception_handlers={Exception: _in_our_words},
    )


def _in_our_words(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """What Litestar refuses by itself (a malformed Host) is answered like every refusal."""
    status = error.status_code if isinstance(error, HTTPException) else 503
    status = status if status < 500 else 503
    return Response(
        error_body(_WORDS.get(status, "unavailable")),
        status_code=status,
        media_type="application/json",
        headers={"connection": "close"},
    )
