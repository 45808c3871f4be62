"""The Litestar application behind the admin listener: who may do what, and how it fails."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from litestar import Controller, Litestar, Request, Response, Router
from litestar.di import Provide
from litestar.exceptions import (
    InternalServerException,
    MethodNotAllowedException,
    NotFoundException,
)
from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from litestar.handlers import BaseRouteHandler

from router import log
from router.clock import Clock
from router.errors import RouterError
from router.operator.times import dated
from router.web.admin.asgi import BODY_MAX
from router.web.admin.browsers import check_origin, header, is_on_this_machine
from router.web.admin.callers import (
    ANYONE,
    NOBODY,
    Caller,
    Callers,
    TooManyWrongTokens,
    WrongToken,
    check_rights,
)
from router.web.admin.openapi import DocumentRoutes, described
from router.web.admin.problems import JSON, PROBLEM, Rejected, problem_body, rejection
from router.web.admin.query import Query
from router.web.admin.request import AdminRequest, Connection
from router.web.pages.application import PagesRouter

_CHALLENGE = {"www-authenticate": "Bearer"}


def admin_api(
    controllers: Sequence[type[Controller]],
    services: Mapping[str, Any],
    *,
    callers: Callers,
    clock: Clock,
    pages: PagesRouter | None = None,
    mask: Callable[[bytes], bytes] = bytes,
) -> Litestar:
    """
    The API, and the pages beside it. `services` are what handlers ask for by name; `mask` removes
    secrets from JSON that goes out: a target may have sent ours back to us.
    """
    faults, admission = Faults(mask, pages), Admission(callers, clock)

    async def guard(connection: Connection, handler: BaseRouteHandler) -> None:
        await admission.check(connection.scope, handler.opt)

    return Litestar(
        [
            Router(
                "/",
                route_handlers=[*controllers, DocumentRoutes],
                guards=[guard],
                request_class=AdminRequest,
                request_max_body_size=BODY_MAX,
                dependencies={name: _service(service) for name, service in services.items()},
            ),
            *([] if pages is None else [pages.router]),
        ],
        response_class=masked(mask),
        exception_handlers={Exception: faults.answer},
        openapi_config=described(),
        logging_config=None,
        debug=False,
    )


def _service(service: Any) -> Provide:
    return Provide(lambda: service, sync_to_thread=False)


def masked(mask: Callable[[bytes], bytes]) -> type[Response[Any]]:
    """Answers whose JSON passes `mask`."""

    class Masked(Response[Any]):
        def render(self, content: Any, media_type: str, *args: Any) -> bytes:
            body = super().render(dated(content), media_type, *args)
            return mask(body) if media_type in (JSON, PROBLEM) else body

    return Masked


class Admission:
    """Lets a request pass whose origin, token, role and query string are right."""

    def __init__(self, callers: Callers, clock: Clock) -> None:
        self._callers = callers
        self._clock = clock
        self._log = log.get("web.admin")

    async def check(self, scope: Any, row: Mapping[str, Any]) -> None:
        """`row` is what the handler says of itself. Raises Rejected, UsageError."""
        state = scope["state"]
        check_origin(scope["headers"], scope["scheme"], state["host"])
        scope["user"], state["admitted"] = await self._caller(scope, row, state["peer"])
        state["query"] = Query(scope["query_string"], row["query"], self._clock.now())

    async def _caller(
        self, scope: Any, row: Mapping[str, Any], peer: str
    ) -> tuple[Caller, Callable[[], Awaitable[Caller | None]]]:
        """Who calls, and how to ask later whether they still may."""
        if not self._callers.required:
            return ANYONE, partial(self._callers.holder, b"")
        if row["access"] == "loopback" and is_on_this_machine(scope["client"], scope["headers"]):
            return NOBODY, partial(self._callers.holder, b"")
        token = _given(scope["headers"])
        caller = await self._known(token, peer)
        check_rights(caller, row)
        return caller, partial(self._callers.holder, token)

    async def _known(self, token: bytes, peer: str) -> Caller:
        try:
            return await self._callers.of(token, peer)
        except WrongToken as error:
            if error.fresh:
                self._log.warning("wrong token", peer=peer)
            raise Rejected(401, "Invalid token.", _CHALLENGE) from None
        except TooManyWrongTokens as error:
            raise Rejected(429, str(error), {"retry-after": str(error.wait_s)}) from None


def _given(headers: Any) -> bytes:
    """The token of a request. Raises Rejected: there is none."""
    scheme, _, given = (header(headers, b"authorization") or "").partition(" ")
    if scheme.lower() != "bearer" or not (given := given.strip()):
        raise Rejected(401, "a token is needed", _CHALLENGE)
    return given.encode("latin-1")


class Faults:
    """Answers what went wrong in our own words."""

    def __init__(self, mask: Callable[[bytes], bytes], pages: PagesRouter | None) -> None:
        self._mask = mask
        self._pages = pages
        self._log = log.get("web.admin")

    def answer(self, request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        """A page, or a problem in JSON."""
        rejected = self.rejected(request, error)
        if self._pages is not None and self._pages.owns(request.scope["raw_path"]):
            return self._pages.fault(request, rejected)
        return Response(
            self._mask(problem_body(rejected)),
            status_code=rejected.status,
            media_type=PROBLEM,
            headers=rejected.headers,
        )

    def rejected(self, request: Request[Any, Any, Any], error: Exception) -> Rejected:
        """Why a request is refused, whatever was raised."""
        match error:
            case Rejected():
                found = error
            case RouterError():
                found = rejection(error)
            case NotFoundException():
                found = Rejected(404, "no such page")
            case MethodNotAllowedException():
                given = (error.headers or {}).get("allow", "").split(", ")
                allow = ", ".join(sorted(set(given) - {"OPTIONS"}))  # which Litestar adds
                found = Rejected(405, f"use {allow}", {"allow": allow})
            case RequestEntityTooLarge():
                most = request.route_handler.resolve_request_max_body_size()
                found = Rejected(413, f"a body has at most {most} bytes")
            case InternalServerException(detail="client disconnected prematurely"):
                found = Rejected(400, "the request ended early")
            case _:
                self._log.error("admin request failed", path=request.scope["path"], exc_info=error)
                found = Rejected(503, "the router failed; its log says why")
        return found
