"""What a page is asked with, and the row of the table that answers it."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl

from router.operator import By
from router.web.admin.browsers import header
from router.web.admin.call import TEXT, Headers, Receive, Rejected, RouteAnswer, Stream
from router.web.admin.faults import read_whole
from router.web.pages.frame import Known

FORM_MAX = 65_536
FORM_FIELDS = 40
FORM_TYPE = "application/x-www-form-urlencoded"


class Visit(NamedTuple):
    """
    One request for a page. `query_string` is raw; `place` has what stands in the path's `{names}`;
    `form` what was posted.
    """

    path: str
    known: Known
    query_string: bytes = b""
    place: Mapping[str, str] = MappingProxyType({})
    form: Mapping[str, str] = MappingProxyType({})
    headers: Headers = ()
    peer: str = ""

    @property
    def bodies(self) -> bool:
        """Whether payloads may be shown."""
        return self.known.caller.bodies

    @property
    def by(self) -> By:
        """For the audit."""
        return By(self.known.caller.name, self.peer)


Handle = Callable[[Visit], Awaitable[RouteAnswer | Stream]]


class PageView(NamedTuple):
    """
    One row of the table. `payloads`: it shows nothing else, so whoever may not see them is refused.
    """

    method: Literal["GET", "POST"]
    path: str
    access: Literal["viewer", "operator"]
    handle: Handle
    payloads: bool = False


def see_other(path: str, *extra: tuple[bytes, bytes]) -> RouteAnswer:
    """Go there, by GET."""
    return RouteAnswer(303, TEXT, b"", ((b"location", path.encode("ascii")), *extra))


def cookie(headers: Headers, wanted: str) -> str | None:
    """A cookie's value; None: it is not sent, or more than once."""
    found = [
        value.strip()
        for name, line in headers
        if name == b"cookie"
        for key, _, value in (one.partition("=") for one in line.decode("latin-1").split(";"))
        if key.strip() == wanted
    ]
    return found[0] if len(found) == 1 else None


async def read_form(receive: Receive, headers: Headers) -> dict[str, str]:
    """
    What a form of ours sent.

    Raises:
        Rejected: it is too long, no form, or malformed.
    """
    if (header(headers, b"content-type") or "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise Rejected(415, "send a form")
    data = await read_whole(receive, FORM_MAX, "a form")
    try:
        text = data.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=FORM_FIELDS, errors="strict")
    except ValueError:
        raise Rejected(400, "the form is malformed") from None
    return dict(pairs)
