"""Logging in and out, and the files of the pages, which need neither."""

from urllib.parse import parse_qs

from litestar import Controller, Response, post, route
from litestar.params import FromPath

from router import log
from router.web.admin.callers import TooManyWrongTokens, WrongToken
from router.web.admin.problems import Rejected
from router.web.admin.request import Given
from router.web.pages.context import PageContext
from router.web.pages.frame import POLICY
from router.web.pages.guard import COOKIE, local, session_cookie
from router.web.pages.request import Shown, action, cookie, parse_form, see_other

TOKEN_MAX = 4_096
_FOREVER = {
    "cache-control": "public, max-age=31536000, immutable",
    "content-security-policy": POLICY,
}


class Login(Controller):
    """A token, shown once, begins a session."""

    @route("/login", http_method=["GET", "HEAD"])
    async def show(self, context: Given[PageContext]) -> Shown:
        """The form for it."""
        if not context.callers.required:
            return see_other("/")
        query = parse_qs(context.request.scope["query_string"].decode("latin-1"))
        onward = local(query.get("next", ["/"])[0])
        return context.frame.page(
            "login.html", context.request.state.known, next=onward, error=None
        )

    @post("/login", status_code=200)
    async def begin(self, context: Given[PageContext]) -> Shown:
        """A session, if the token is one of ours."""
        request = context.request
        if not context.callers.required:
            return see_other("/")
        form = parse_form(request.scope["headers"], await request.body())
        onward = local(form.get("next", "/"))
        token = form.get("token", "").strip().encode("utf-8")[:TOKEN_MAX]
        try:
            await context.callers.of(token, request.state.peer)
        except WrongToken:
            log.get("web.pages").warning("wrong token", peer=request.state.peer)
            return context.frame.page("login.html", None, 401, next=onward, error="Invalid token.")
        except TooManyWrongTokens as many:
            raise Rejected(429, str(many), {"retry-after": str(many.wait_s)}) from None
        context.sessions.end(cookie(request.scope["headers"], COOKIE))
        begun = session_cookie(context.sessions.begin(token), request.scope)
        return see_other(onward, set_cookie=begun)

    @action("/logout", access="viewer")
    async def end(self, context: Given[PageContext]) -> Shown:
        """The session."""
        scope = context.request.scope
        context.sessions.end(cookie(scope["headers"], COOKIE))
        return see_other("/login", set_cookie=session_cookie("", scope, 0))


class StaticFiles(Controller):
    """Stylesheet, scripts and icon."""

    @route("/static/{name:str}", http_method=["GET", "HEAD"])
    async def file(self, context: Given[PageContext], name: FromPath[str]) -> Shown:
        """Their names change with their content."""
        if (asset := context.assets.files.get(name)) is None:
            raise Rejected(404, "there is no such file")
        return Response(asset.body, headers={**_FOREVER, "content-type": asset.content_type})
