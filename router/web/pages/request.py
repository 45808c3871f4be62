"""A request for a page as its handlers see it, and the decorators that make them."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl

from litestar import Response, get, post

from router.web.admin.browsers import header
from router.web.admin.problems import Headers, Rejected
from router.web.admin.request import AdminRequest
from router.web.pages.frame import KnownCaller
from router.web.pages.sessions import is_ours

FORM_MAX = 65_536
FORM_FIELDS = 40
FORM_TYPE = "application/x-www-form-urlencoded"
HTML = "text/html"

Handler = TypeVar("Handler", bound=Callable[..., Any])
Shown = Response[bytes]
Form = dict[str, str]
Access = Literal["viewer", "operator", "admin"]


class PageRequest(AdminRequest):
    """`user` is who looks."""

    way = "page"

    @property
    def known(self) -> KnownCaller:
        """Who looks, and what proves that a form was made for them."""
        found: KnownCaller = self.state.known
        return found


def page(
    path: str, *, access: Access = "viewer", payloads: bool = False
) -> Callable[[Handler], Any]:
    """
    A handler of GET. `payloads`: it shows nothing else, so whoever may not see them is refused.
    """
    return get(path, media_type=HTML, opt={"access": access, "payloads": payloads})


def action(path: str, *, access: Access = "operator") -> Callable[[Handler], Any]:
    """A handler of a form."""
    return post(path, media_type=HTML, status_code=200, opt={"access": access, "form": True})


def see_other(path: str, **headers: str) -> Shown:
    """Go there, by GET."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(
        b"", status_code=303, media_type="text/plain", headers={"location": path, **more}
    )


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


async def form_of(request: PageRequest) -> Form:
    """
    What a form of ours sent.

    Raises:
        Rejected: it is malformed, or was not made for who sends it.
    """
    form = parse_form(request.scope["headers"], await request.body())
    if not is_ours(form.pop("proof", ""), request.known.proof):
        raise Rejected(403, "this form has expired: go back, reload the page, and try again")
    return form


def parse_form(headers: Headers, data: bytes) -> Form:
    """
    The fields of a form.

    Raises:
        Rejected: it is no form, or malformed.
    """
    if (header(headers, b"content-type") or "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise Rejected(415, "send a form")
    try:
        return dict(
            parse_qsl(
                data.decode("ascii"),
                keep_blank_values=True,
                max_num_fields=FORM_FIELDS,
                errors="strict",
            )
        )
    except ValueError:
        raise Rejected(400, "the form is malformed") from None
