"""The page of tokens: who may look and act, by name. For admins alone."""

from typing import get_args

import msgspec
from litestar import Controller

from router.errors import NotFound, UsageError
from router.model.settings import ROLES, AdminRole
from router.operator.requests import TokenName, TokenRequest
from router.operator.token_answers import NewToken
from router.store.time_text import deadline
from router.web.admin.request import Given
from router.web.pages.context import PageContext
from router.web.pages.request import Form, Shown, action, page


class TokenPages(Controller):
    """Makes, lists and revokes."""

    @page("/tokens", access="admin")
    async def tokens(self, context: Given[PageContext]) -> Shown:
        """Every one, never its value."""
        return await _shown(context)

    @action("/tokens", access="admin")
    async def new(self, context: Given[PageContext]) -> Shown:
        """Make one; this answer alone has its value."""
        try:
            wanted = _wanted(context.form, context.clock.now())
            made = await context.verbs.new_token(wanted, context.request.by)
        except UsageError as wrong:
            return await _shown(context, error=str(wrong))
        return await _shown(context, made=made)

    @action("/tokens/revoke", access="admin")
    async def revoke(self, context: Given[PageContext]) -> Shown:
        """Take one back; who revokes their own is logged out by it."""
        name = context.form.get("name", "")
        try:
            await context.verbs.revoke_token(TokenName(name), context.request.by)
        except (UsageError, NotFound) as wrong:
            return await _shown(context, error=str(wrong))
        return await _shown(context, revoked=name)


async def _shown(
    context: PageContext,
    *,
    made: NewToken | None = None,
    revoked: str | None = None,
    error: str | None = None,
) -> Shown:
    found = await context.questions.tokens()
    return context.page(
        "tokens.html",
        400 if error else 200,
        tokens=found.tokens,
        roles=ROLES,
        asked=context.form if error else {},
        made=made,
        revoked=revoked,
        error=error,
    )


def _wanted(form: Form, now: int) -> TokenRequest:
    """What the form asks for. Raises UsageError."""
    until = form.get("until", "").strip()
    wanted = {
        "name": form.get("name", "").strip(),
        "role": form.get("role", ""),
        "bodies": form.get("bodies") == "yes",
        "until": deadline(until, now) if until else None,
    }
    try:
        return msgspec.convert(wanted, TokenRequest)
    except msgspec.ValidationError:
        raise UsageError(f"a role is one of {', '.join(get_args(AdminRole))}") from None
