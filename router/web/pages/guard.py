"""
Who may look at the pages: every path that is no API. A request passes, in order: other sites,
session, role, the proof that a form is ours. Pages change nothing by GET.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from litestar import Request

from router.web.admin.browsers import header
from router.web.admin.callers import ANYONE, Callers, check_rights
from router.web.admin.problems import Headers, Rejected
from router.web.pages.frame import Frame, KnownCaller
from router.web.pages.request import Shown, cookie, see_other
from router.web.pages.sessions import LASTS_S, Sessions

COOKIE = "router_session"
_SAFE_METHODS = ("GET", "HEAD")


class PagesAdmission:
    """Lets in `callers` who have shown their token once; shows others what they do wrong."""

    def __init__(self, callers: Callers, sessions: Sessions, frame: Frame) -> None:
        self._callers = callers
        self._sessions = sessions
        self._frame = frame

    def check(self, scope: Any, row: Mapping[str, Any]) -> None:
        """`row` is what the handler says of itself. Raises Rejected."""
        if (known := self._admitted(scope)) is None:
            return
        scope["user"] = known.caller
        check_rights(known.caller, row)

    def _admitted(self, scope: Any) -> KnownCaller | None:
        """Who looks; None: nobody need log in for this. Raises Rejected."""
        check_site(scope, scope["state"]["host"])
        path = scope["raw_path"]
        if path.startswith(b"/static/"):
            return None
        known = scope["state"]["known"] = self._known(scope["headers"])
        if known is None and path != b"/login":
            raise _login_first(scope)
        return known

    def _known(self, headers: Headers) -> KnownCaller | None:
        """Who this is; None: nobody has logged in."""
        if not self._callers.required:
            return KnownCaller(ANYONE, self._sessions.form, logged_in=False)
        id_ = cookie(headers, COOKIE)
        if (session := self._sessions.of(id_)) is None:
            return None
        caller = self._callers.holder(session.token)
        if caller is None:  # it was taken back
            self._sessions.end(id_)
            return None
        return KnownCaller(caller, session.form, logged_in=True)

    def fault(self, request: Request[Any, Any, Any], rejected: Rejected) -> Shown:
        """The page that says so, or the way to the log-in; without a session it shows no more."""
        state = request.scope["state"]
        if "known" not in state:  # no guard was passed: there is no such page, or method
            try:
                self._admitted(request.scope)
            except Rejected as refused:
                rejected = refused
        if rejected.status == 303:
            return see_other(rejected.headers["location"])
        return self._frame.fault(state.get("known"), rejected)


def _login_first(scope: Any) -> Rejected:
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    if header(scope["headers"], b"accept") == "text/event-stream" or path.startswith("/live/"):
        return Rejected(401, "log in first")
    back = f"{path}?{query}" if query else path
    onward = local(back) if scope["method"] in _SAFE_METHODS else "/"
    location = f"/login?next={quote(onward, safe='')}"
    return Rejected(303, "log in first", {"location": location})


def check_site(scope: Any, host: str) -> None:
    """
    Turn away what a page of another site makes a browser send. Following a link to us is allowed:
    it shows a page and nothing else, and not in a frame.

    Raises:
        Rejected: it comes from elsewhere.
    """
    headers: Headers = scope["headers"]
    origin = header(headers, b"origin")
    site = header(headers, b"sec-fetch-site")
    foreign = origin is not None and not _is_own(origin.lower(), scope["scheme"], host, site)
    if not foreign and site in (None, "same-origin", "none"):
        return
    followed = (
        origin is None
        and scope["method"] in _SAFE_METHODS
        and header(headers, b"sec-fetch-mode") == "navigate"
        and header(headers, b"sec-fetch-dest") == "document"
    )
    if not followed:
        raise Rejected(403, "requests from other sites are not allowed")


def _is_own(origin: str, scheme: str, host: str, site: str | None) -> bool:
    """Whether a form is of a page of ours; behind a proxy with TLS the browser alone knows that."""
    given, _, name = origin.partition("://")
    return name == host and (given == scheme or (given == "https" and site == "same-origin"))


def local(path: str) -> str:
    """A path of ours to go on to, else the first page: never an address elsewhere."""
    parts = urlsplit(path) if path.isascii() and path.isprintable() else None
    fine = parts is not None and not parts.scheme and not parts.netloc
    if fine and path.startswith("/") and not path.startswith("//") and "\\" not in path:
        return path
    return "/"


def session_cookie(value: str, scope: Any, lasts_s: int = int(LASTS_S)) -> str:
    """The header that makes a browser keep a session, or forget it."""
    origin = header(scope["headers"], b"origin") or ""
    tls = scope["scheme"] == "https" or origin.lower().startswith("https://")
    secure = "; Secure" if tls else ""
    return f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={lasts_s}{secure}"
