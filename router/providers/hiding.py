"""A token that stands in the body, removed from it before anything keeps the body."""

import msgspec

from router.expressions import encode_json
from router.model.delivery import JSON, REMOVED, InboundRequest
from router.model.odd_body import OddBodyError
from router.model.packed import opened
from router.providers.definition import VerifyRule
from router.providers.evidence import FORM_MAX, Evidence, UnreadableProofError, of_field
from router.providers.queries import without

_REMOVED = REMOVED.encode("ascii")


def without_token(request: InboundRequest, rule: VerifyRule) -> InboundRequest:
    """
    The request with `[removed]` for the token in its body, which is then not packed. A body that
    cannot be read for its token, and so was not verified, is removed whole.
    """
    came, path = request, rule.field or ""
    try:
        request = opened(request, FORM_MAX)
        evidence = Evidence({}, request)
        if evidence.is_form:
            return _with_body(request, without(request.body, path.encode("utf-8")))
        shown = {token for one in evidence.items(rule.each) if (token := of_field(path)(one))}
    except (UnreadableProofError, OddBodyError):
        return _with_body(request, _REMOVED)
    if not shown:
        return came
    body = request.body
    for token in shown:  # as text, so that everything else stays as it came
        body = body.replace(encode_json(token.decode("utf-8")), encode_json(REMOVED))
    clean = _with_body(request, body)
    return clean if not _holds(clean, shown) else _with_body(request, _REMOVED)


def _with_body(request: InboundRequest, body: bytes) -> InboundRequest:
    return msgspec.structs.replace(request, body=body)


def _holds(request: InboundRequest, tokens: set[bytes]) -> bool:
    """Does any text of the body still say one of them, spelled in some other way?"""
    pending: list[JSON] = [Evidence({}, request).payload]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str | int) and str(value).encode("utf-8") in tokens:
            return True
    return False
