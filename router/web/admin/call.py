"""What the admin door's routes are made of: a row of the table, what is asked, what is answered."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from router.web.admin.asking import Query, QueryParameter
from router.web.admin.callers import Caller

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
PROBLEM = "application/problem+json"
BYTES = "application/octet-stream"

Headers = Sequence[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

Access = Literal["open", "loopback", "viewer", "operator"]
"""
open: everybody; loopback: this machine, or a token; viewer: any token; operator: a token that may
change things.
"""

STRICT = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Nothing in an answer may load, run, post or be framed."""


class Call(NamedTuple):
    """
    What a route's handler may look at. `place` has what stands in the path's `{names}`, `body` is
    the route's Struct, `peer` the caller's address.
    """

    caller: Caller
    query: Query
    place: Mapping[str, str]
    body: Any = None
    headers: Headers = ()
    peer: str = ""


class RouteAnswer(NamedTuple):
    """What a route answers, whole. `policy` is its Content-Security-Policy."""

    status: int
    content_type: str
    body: bytes
    extra: Headers = ()
    policy: bytes = STRICT


class Stream(NamedTuple):
    """An answer that goes on: `write` sends its body until the client goes away."""

    content_type: str
    write: Callable[[Receive, Send], Awaitable[None]]
    policy: bytes = STRICT


class Route(NamedTuple):
    """
    One row of the table.

    `body` is the Struct that a request's JSON must be, `answer` the type of what comes back: a
    Struct, or a media type where it is no JSON. `payloads`: it shows what came in or was sent, so a
    token without bodies is refused.
    """

    method: Literal["GET", "POST"]
    path: str
    access: Access
    about: str
    handle: Callable[[Call], Awaitable["RouteAnswer | Stream"]]
    query: tuple[QueryParameter, ...] = ()
    body: type[msgspec.Struct] | None = None
    answer: Any = TEXT
    payloads: bool = False


class Rejected(Exception):
    """The request is not acceptable; the text says why, for whoever operates this."""

    def __init__(self, status: int, detail: str, *extra: tuple[bytes, bytes]) -> None:
        super().__init__(detail)
        self.status = status
        self.extra = extra
