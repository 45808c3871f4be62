"""A request to the admin API as its handlers see it, and the decorators that make them."""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from litestar import Request, get, post
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.dto import AbstractDTO
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import SkipValidation

from router.errors import StoreUnavailable
from router.model.operations import Way
from router.operator.requests import By
from router.operator.times import decoded
from router.web.admin.browsers import header
from router.web.admin.callers import Caller
from router.web.admin.problems import JSON, PROBLEM, ProblemDetails, Rejected
from router.web.admin.query import Query, QueryParameter
from router.web.admin.redaction import redacted

T = TypeVar("T")
Given = NamedDependency[SkipValidation[T]]
"""What a handler asks for by name."""
Connection = ASGIConnection[Any, Any, Any, Any]
Handler = TypeVar("Handler", bound=Callable[..., Any])

NO_BODY = b" "
Access = Literal["open", "loopback", "viewer", "operator", "admin"]
"""
open: everybody; loopback: this machine, or a token; viewer: any token; operator: a token that may
change things; admin: one that may make tokens and revoke them, too.
"""


def _refusals(**about: str) -> dict[int, ResponseSpec]:
    return {
        int(status.removeprefix("s")): ResponseSpec(
            ProblemDetails, media_type=PROBLEM, description=text, generate_examples=False
        )
        for status, text in about.items()
    }


_REFUSALS = _refusals(
    s400="The request is malformed, or names something unknown here.",
    s401="A token is needed.",
    s403="This token may not do that, or the request comes from another site.",
    s404="Not found.",
    s422="Evaluating the condition took too long, or too much memory.",
    s429="Too many wrong tokens: Retry-After says how long to wait. Or too many conditions.",
    s503="The store does not answer.",
)
_CHANGE_REFUSALS = _REFUSALS | _refusals(
    s409="It conflicts with the store or the rules file.",
    s413="The body is too large.",
)


class AdminRequest(Request[Caller, Any, State]):
    """`user` is who calls, as the guard found out."""

    way: ClassVar[Way] = "api"

    @property
    def query(self) -> Query:
        """The query string; what is not known is refused already."""
        found: Query = self.state.query
        return found

    def visible(self, found: T) -> T:
        """An answer, or what this caller may see of it."""
        return found if self.user.bodies else redacted(found)

    async def still_admitted(self) -> bool:
        """Whether who asked may still: the token can be revoked while an answer goes on."""
        try:
            return bool(await self.state.admitted() == self.user)
        except StoreUnavailable:
            return False

    @property
    def by(self) -> By:
        """Who asks or changes something: for the audit, and for what they may search in."""
        return By(self.user.name, self.state.peer or None, self.way, self.user.bodies)

    async def body(self) -> bytes:
        """Never empty, which Litestar would not decode: no body is an empty object."""
        return await super().body() or NO_BODY


def question(
    path: str,
    about: str,
    *query: QueryParameter,
    access: Access = "viewer",
    payloads: bool = False,
    media_type: str = JSON,
) -> Callable[[Handler], Any]:
    """
    A handler of GET.

    `payloads`: it shows what came in or was sent, so a token without bodies is refused.
    """
    return get(
        path,
        summary=about,
        media_type=media_type,
        responses=_REFUSALS,
        opt={"access": access, "payloads": payloads, "query": query},
        security=[{}, {"token": []}] if access == "loopback" else None,
    )


def verb(
    path: str, about: str, body: type[msgspec.Struct], *, access: Access = "operator"
) -> Callable[[Handler], Any]:
    """A handler of POST, for operators; the request's JSON is a `body`."""
    return post(
        path,
        summary=about,
        status_code=200,
        dto=StrictBody[body],  # type: ignore[valid-type]
        return_dto=None,
        responses=_CHANGE_REFUSALS,
        opt={"access": access, "payloads": False, "query": ()},
    )


class StrictBody(AbstractDTO[T], Generic[T]):
    """The body of a request, read as strictly as everything else: no number in quotes is one."""

    def decode_bytes(self, value: bytes) -> Any:
        """The Struct. Raises Rejected."""
        if value == NO_BODY:
            value = b"{}"
        else:
            self._check_type()
        try:
            return decoded(value, self.model_type)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Rejected(400, f"the body is not what this takes: {error}") from None

    def _check_type(self) -> None:
        kind = (header(self.asgi_connection.scope["headers"], b"content-type") or "").partition(";")
        if kind[0].strip().lower() != JSON:
            raise Rejected(415, "send application/json")

    @classmethod
    def create_for_field_definition(cls, *_args: Any, **_given: Any) -> None:
        """Nothing is generated: the Struct itself is what is decoded."""

    @classmethod
    def create_openapi_schema(
        cls,
        field_definition: Any,
        handler_id: str,  # noqa: ARG003 - Litestar gives it by name
        schema_creator: Any,
    ) -> Any:
        """The schema of the Struct."""
        return schema_creator.for_field_definition(field_definition)
