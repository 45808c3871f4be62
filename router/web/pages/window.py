"""
The window: every path that is no API. A request passes, in order: method, other sites, session,
role, the proof that a form is ours. Pages change nothing by GET.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from router import log
from router.errors import RouterError
from router.web.admin.browsers import header
from router.web.admin.call import Headers, Receive, Rejected, RouteAnswer, Stream
from router.web.admin.callers import ANYONE, Callers, TooManyGuesses, WrongToken
from router.web.admin.faults import asked_too_often, status_of
from router.web.pages.assets import Assets
from router.web.pages.frame import POLICY, Frame, Known
from router.web.pages.sessions import LASTS_S, Sessions, is_ours
from router.web.pages.visit import PageView, Visit, cookie, read_form, see_other

COOKIE = "router_session"
TOKEN_MAX = 4_096
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_FOREVER = (b"cache-control", b"public, max-age=31536000, immutable")
_SAFE_METHODS = ("GET", "HEAD")


class PagesApp:
    """
    Answers by `views`, for `callers` who have shown their token once.
    """

    def __init__(
        self,
        views: Sequence[PageView],
        *,
        callers: Callers,
        sessions: Sessions,
        frame: Frame,
        assets: Assets,
    ) -> None:
        self.views = tuple(views)
        self._callers = callers
        self._sessions = sessions
        self._frame = frame
        self._assets = assets
        self._log = log.get("web.pages")
        self._table = [(_pattern(view.path), view) for view in views]

    def serves(self, raw_path: bytes) -> bool:
        """Whether a path is the window's, and no tool's."""
        return not raw_path.startswith((b"/api", b"/livez", b"/readyz", b"/metrics"))

    async def answer(
        self, scope: Any, receive: Receive, host: str, peer: str
    ) -> RouteAnswer | Stream:
        """One request, whose Host has been checked. Never raises but for cancellation."""
        known = None
        try:
            path = scope["raw_path"].decode("latin-1")
            headers: Headers = scope["headers"]
            check_site(scope, host)
            if path.startswith("/static/"):
                return self._static(scope["method"], path)
            known = self._known(headers)
            return await self._passed(scope, receive, path, known, peer)
        except Rejected as rejected:
            return self._fault(known, rejected.status, str(rejected), *rejected.extra)
        except RouterError as error:
            return self._fault(known, status_of(error), str(error))
        except Exception as error:  # noqa: BLE001 - the last net of a request
            self._log.error("page failed", path=scope["path"], exc_info=error)
            return self._fault(known, 503, "the router failed; its log says why")

    # -- who and what ------------------------------------------------------------------------------

    async def _passed(
        self, scope: Any, receive: Receive, path: str, known: Known | None, peer: str
    ) -> RouteAnswer | Stream:
        headers: Headers = scope["headers"]
        if path == "/login":
            return await self._login(scope, receive, known, peer)
        if known is None:
            return self._to_login(scope, path)
        if path == "/logout":
            return await self._logout(scope, receive, known)
        view, place = self._view(scope["method"], path)
        form = await _form(receive, headers, known) if view.method == "POST" else {}
        if view.access == "operator" and known.caller.role != "operator":
            raise Rejected(403, f"the token {known.caller.name} may look, not change")
        if view.payloads and not known.caller.bodies:
            raise Rejected(403, f"the token {known.caller.name} may not see payloads")
        visit = Visit(path, known, scope["query_string"], place, form, headers, peer)
        return await view.handle(visit)

    def _known(self, headers: Headers) -> Known | None:
        """Who this is; None: nobody has logged in."""
        if not self._callers.asked:
            return Known(ANYONE, self._sessions.form, logged_in=False)
        id_ = cookie(headers, COOKIE)
        session = self._sessions.of(id_)
        if session is None:
            return None
        caller = self._callers.holder(session.token)
        if caller is None:  # it was taken back
            self._sessions.end(id_)
            return None
        return Known(caller, session.form, logged_in=True)

    def _view(self, method: str, path: str) -> tuple[PageView, dict[str, str]]:
        fitting = [(v, m) for pattern, v in self._table if (m := pattern.fullmatch(path))]
        for view, match in fitting:
            if view.method == method:
                return view, match.groupdict()
        if not fitting:
            raise Rejected(404, "there is no such page")
        raise _other_method(*sorted({view.method for view, _ in fitting}))

    # -- logging in --------------------------------------------------------------------------------

    async def _login(
        self, scope: Any, receive: Receive, known: Known | None, peer: str
    ) -> RouteAnswer:
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("next", ["/"])[0]
        if not self._callers.asked:
            return see_other("/")
        if scope["method"] in _SAFE_METHODS:
            return self._frame.page("login.html", known, next=local(asked), error=None)
        if scope["method"] != "POST":
            raise _other_method("GET", "POST")
        form = await read_form(receive, scope["headers"])
        onward = local(form.get("next", "/"))
        token = form.get("token", "").strip().encode("utf-8")[:TOKEN_MAX]
        try:
            await self._callers.of(token, peer)
        except WrongToken:
            self._log.warning("wrong token", peer=peer)
            error = "this token opens nothing here"
            return self._frame.page("login.html", None, 401, next=onward, error=error)
        except TooManyGuesses as many:
            raise asked_too_often(many) from None
        self._sessions.end(cookie(scope["headers"], COOKIE))
        id_ = self._sessions.begin(token)
        return see_other(onward, _set_cookie(id_, scope, int(LASTS_S)))

    async def _logout(self, scope: Any, receive: Receive, known: Known) -> RouteAnswer:
        if scope["method"] != "POST":
            raise _other_method("POST")
        await _form(receive, scope["headers"], known)
        self._sessions.end(cookie(scope["headers"], COOKIE))
        return see_other("/login", _set_cookie("", scope, 0))

    def _to_login(self, scope: Any, path: str) -> RouteAnswer:
        if header(scope["headers"], b"accept") == "text/event-stream" or path.startswith("/live/"):
            raise Rejected(401, "log in first")
        query = scope["query_string"].decode("latin-1")
        back = f"{path}?{query}" if query else path
        safe = scope["method"] in _SAFE_METHODS
        return see_other(f"/login?next={quote(local(back) if safe else '/', safe='')}")

    # -- answers -----------------------------------------------------------------------------------

    def _static(self, method: str, path: str) -> RouteAnswer:
        asset = self._assets.find(path.removeprefix("/static/"))
        if asset is None or method not in _SAFE_METHODS:
            raise Rejected(404, "there is no such file")
        return RouteAnswer(200, asset.content_type, asset.body, (_FOREVER,), POLICY)

    def _fault(
        self, known: Known | None, status: int, detail: str, *extra: tuple[bytes, bytes]
    ) -> RouteAnswer:
        title = HTTPStatus(status).phrase
        page = self._frame.page(
            "fault.html", known, status, title=title, code=status, detail=detail
        )
        return page._replace(extra=(*page.extra, *extra))


async def _form(receive: Receive, headers: Headers, known: Known) -> dict[str, str]:
    form = await read_form(receive, headers)
    if not is_ours(form.pop("proof", ""), known.proof):
        raise Rejected(403, "this form has expired: go back, reload the page, and try again")
    return form


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


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", rf"(?P<\1>{_NAME.pattern})", path))


def _set_cookie(value: str, scope: Any, lasts_s: int) -> tuple[bytes, bytes]:
    origin = header(scope["headers"], b"origin") or ""
    tls = scope["scheme"] == "https" or origin.lower().startswith("https://")
    secure = "; Secure" if tls else ""
    text = f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={lasts_s}{secure}"
    return b"set-cookie", text.encode("ascii")


def _other_method(*allowed: str) -> Rejected:
    allow = ", ".join(allowed)
    return Rejected(405, f"use {allow}", (b"allow", allow.encode("ascii")))
