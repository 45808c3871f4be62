"""What stands around every page: who looks at it, and how the router is."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
from litestar import Response

from router.web.admin.callers import Caller
from router.web.admin.problems import Rejected
from router.web.pages.rendering import Renderer

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Own scripts and styles as files, nothing inline, nothing from elsewhere."""
SAME_ORIGIN = "same-origin"
"""The referrer policy: with less, browsers send no Origin, and our forms look like anybody's."""


class RouterStatus(msgspec.Struct, frozen=True):
    """
    What every page says of the router: `failed` are the diagnostics of a reload that went wrong,
    since `failed_at` (Unix milliseconds).
    """

    version: str
    generation: str
    dev: bool = False
    dry: bool = False
    failed: str | None = None
    failed_at: int | None = None


class KnownCaller(NamedTuple):
    """Who a request is from, and what proves that a form was made for them."""

    caller: Caller
    proof: str
    logged_in: bool = False


class Frame:
    """
    Puts pages into their frame. `standing` is how the router is now, `dead` how many jobs are dead;
    `shared`: others may have its store.
    """

    def __init__(
        self,
        renderer: Renderer,
        standing: Callable[[], RouterStatus],
        dead: Callable[[], int] = lambda: 0,
        *,
        shared: bool = False,
    ) -> None:
        self._renderer = renderer
        self._standing = standing
        self._dead = dead
        self._shared = shared

    def page(
        self, template: str, known: KnownCaller | None, status: int = 200, **values: Any
    ) -> Response[bytes]:
        """A page; `known` None: nobody has logged in, so nothing of the router is shown."""
        shared = {
            "caller": known.caller if known else None,
            "may_admin": known is not None and known.caller.may("admin"),
            "may_change": known is not None and known.caller.may("operator"),
            "proof": known.proof if known else "",
            "logged_in": known is not None and known.logged_in,
            "shared": self._shared,
            "dead_letters": self._dead(),
            "standing": self._standing() if known else None,
        }
        body = self._renderer.page(template, **shared, **values)
        headers = {"content-security-policy": POLICY, "referrer-policy": SAME_ORIGIN}
        return Response(body, status_code=status, media_type="text/html", headers=headers)

    def fault(self, known: KnownCaller | None, rejected: Rejected) -> Response[bytes]:
        """The page of a request that is refused."""
        code, title = rejected.status, HTTPStatus(rejected.status).phrase
        page = self.page("fault.html", known, code, title=title, code=code, detail=str(rejected))
        page.headers |= rejected.headers
        return page
