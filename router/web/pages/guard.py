"""
Who may look at the pages: every path that is no API. A request passes, in order: other sites,
session, role, the proof that a form is ours. Pages change nothing by GET.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

from litestar import Request

from router.web.admin.browsers import header
from router.web.admin.callers import Caller, Callers, check_rights
from router.web.admin.problems import Headers, Rejected
from router.web.pages.frame import Frame, KnownCaller
from router.web.pages.request import Shown, cookie, see_other
from router.web.pages.sessions import LASTS_S, Session, Sessions

COOKIE = "router_session"
_SAFE_METHODS = ("GET", "HEAD")


class PagesAdmission:
    """Lets in `callers` who have shown their token once; shows others what they do wrong."""

    def __init__(self, callers: Callers, sessions: Sessions, frame: Frame) -> None:
        self._callers = callers
        self._sessions = sessions
        self._frame = frame

    async def check(self, scope: Any, row: Mapping[str, Any]) -> None:
        """`row` is what the handler says of itself. Raises Rejected, StoreUnavailable."""
        if _is_open(scope):
            return
        session = self._session(scope)
        caller = await self._callers.holder(_token(session))
        if (known := self._admitted(scope, session, caller)) is None:
            return
        scope["user"] = known.caller
        scope["state"]["admitted"] = partial(self._caller, scope)
        check_rights(known.caller, row)

    def _session(self, scope: Any) -> Session | None:
        return self._sessions.of(cookie(scope["headers"], COOKIE))

    async def _caller(self, scope: Any) -> Caller | None:
        """Who this is by now."""
        return await self._callers.holder(_token(self._session(scope)))

    def _admitted(
        self, scope: Any, session: Session | None, caller: Caller | None
    ) -> KnownCaller | None:
        """How `caller` is known here; None: nobody is who may log in. Raises Rejected."""
        known = None
        if caller is not None:
            form = session.form if session else self._sessions.form
            known = KnownCaller(caller, form, logged_in=session is not None)
        elif session is not None:  # its token was taken back
            self._sessions.end(cookie(scope["headers"], COOKIE))
        scope["state"]["known"] = known
        if known is None and scope["raw_path"] != b"/login":
            raise _login_first(scope)
        return known

    def _look(self, scope: Any) -> None:
        """As `check`, as far as it goes without asking the ledger. Raises Rejected."""
        if not _is_open(scope):
            session = self._session(scope)
            caller = self._callers.holder_now(_token(session))
            if caller is not None or session is None:
                self._admitted(scope, session, caller)

    def fault(self, request: Request[Any, Any, Any], rejected: Rejected) -> Shown:
        """The page that says so, or the way to the log-in; without a session it shows no more."""
        scope = request.scope
        if "known" not in scope["state"]:  # no guard was passed: there is no such page, or method
            try:
                self._look(scope)
            except Rejected as refused:
                rejected = refused
        state = scope["state"]
        if rejected.status == 303:
            return see_other(rejected.headers["location"])
        return self._frame.fault(state.get("known"), rejected)


def _token(session: Session | None) -> bytes:
    return session.token if session else b""


def _is_open(scope: Any) -> bool:
    """Whether everybody may have this. Raises Rejected: it comes from elsewhere."""
    check_site(scope, scope["state"]["host"])
    return bool(scope["raw_path"].startswith(b"/static/"))


def _login_first(scope: Any) -> Rejected:
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    if header(scope["headers"], b"accept") == "text/event-stream":
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
