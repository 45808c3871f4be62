"""Answers made of the request: templates, and the status, headers and body that they give."""

import re
from typing import Any

import msgspec

from router.errors import RenderError
from router.expressions import Template, encode_json, rfc3339
from router.kinds.templates import JsonSpec, Scope, json_value
from router.legible import cut
from router.model.delivery import JSON, Delivery
from router.model.headers import joined_headers
from router.model.settings import FixedAnswer
from router.rules.scope import query_fields

BODY_MAX = 65_536
HEADERS_MAX = 8_192
_STATUS = re.compile(r"2[0-9]{2}", re.ASCII)
_BODILESS = frozenset({"204", "205"})
_UNFIT = re.compile(r"[^ -~\xa0-\xff]")


class MadeAnswer(msgspec.Struct, frozen=True):
    """
    `answer:` of an endpoint, as templates. `body` is a Template, or a JsonSpec if `is_json`;
    `otherwise` is the answer if this one cannot be made.
    """

    status: Template
    type: str
    headers: tuple[tuple[str, Template], ...]
    body: JsonSpec
    is_json: bool
    otherwise: "MadeAnswer | None" = None

    def answer(self, scope: Scope) -> tuple[FixedAnswer | None, tuple[str, ...]]:
        """This answer, else `otherwise`, else None; and why those before it cannot be made."""
        try:
            return self.render(scope), ()
        except RenderError as fault:
            found, reasons = self.otherwise.answer(scope) if self.otherwise else (None, ())
            return found, (str(fault), *reasons)

    def render(self, scope: Scope) -> FixedAnswer:
        """The answer to one request. Raises RenderError: it cannot be made, or is no answer."""
        status = self.status.render(scope, place="answer.status")
        if not _STATUS.fullmatch(status):
            message = f"must be 200 to 299, {cut(status, 20)} reports a failure"
            raise RenderError("answer.status", message)
        headers = dict(_header(name, value, scope) for name, value in self.headers)
        if sum(len(name) + len(value) for name, value in headers.items()) > HEADERS_MAX:
            raise RenderError("answer.headers", f"have over {HEADERS_MAX:,} bytes")
        place = "answer.json" if self.is_json else "answer.body"
        if (body := self._body(scope, place)) and status in _BODILESS:
            raise RenderError(place, f"an answer with status {status} has no body")
        if len(body) > BODY_MAX:
            raise RenderError(place, f"has {len(body):,} bytes, over {BODY_MAX:,}")
        return FixedAnswer(int(status), self.type, (body.decode(),), tuple(headers.items()))

    def _body(self, scope: Scope, place: str) -> bytes:
        try:
            if self.is_json:
                return encode_json(json_value(self.body, scope, place, null=False))
            text: str = self.body.render(scope, place=place)
            return text.encode()
        except (TypeError, ValueError, RecursionError) as fault:  # a lone surrogate, 1e999
            raise RenderError(place, str(fault)) from None


def _header(name: str, template: Template, scope: Scope) -> tuple[bytes, bytes]:
    place = f"answer.headers.{name}"
    value = template.render(scope, place=place).strip()
    if len(value) > HEADERS_MAX or _UNFIT.search(value):  # all of a large body takes long
        raise RenderError(place, "is too long, or holds a line break or another unfit character")
    return name.lower().encode("latin-1"), value.encode("latin-1")


def answer_scope(delivery: Delivery, payload: JSON) -> dict[str, Any]:
    """What the templates of an answer read; `payload` is the whole decoded body."""
    return {
        "payload": payload,
        "headers": joined_headers(delivery.headers),
        "query": query_fields(delivery.query),
        "delivery": {"id": delivery.id, "received_at": rfc3339(delivery.received_at)},
    }
