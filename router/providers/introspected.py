"""
The way of proof `introspection`: who issued a bearer token is asked whether it holds (RFC 7662).

Its answer is believed for this one request; whoever asks may remember a good one for a while.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers.bearer import TOKEN_BYTES_MAX, Claims, Head, JwtScheme, Moment, Token
from router.providers.credentials import led
from router.providers.definition import Definition, IntrospectRule, VerifyRule
from router.providers.headers import Spellings
from router.providers.scheme import Found
from router.providers.waiting import Introspection, Verdict, Waiting

NOT_ANSWERED = "not_answered"
"""The reason of a refusal because who was to be asked gave no answer."""


class Told(Claims, frozen=True):
    """What the issuer says of a token."""

    active: Any = None


class IntrospectionScheme(JwtScheme):
    """Verifies by what the issuer of a bearer token says of it."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._introspect = rule.introspect or IntrospectRule()

    def verify(
        self,
        found: Found,
        request: InboundRequest,
        _secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verdict:
        """Waits for the answer, if there is a token to ask about."""
        if not (text := found.get(self._header)):
            return self.missing(found, request, "no bearer token came")
        token = led(text, self._lead)
        # What may stand in a bearer token (RFC 6750), so that a form carries it as it is.
        if not token or len(token) > TOKEN_BYTES_MAX or not token.isascii() or b" " in token:
            return self.refused("malformed_signature", "malformed: not a bearer token")
        leeway_s = self._leeway_s if tolerance_s is None else tolerance_s
        moment, rule = Moment(request.body, now_ms / 1000, leeway_s), self._introspect
        ask = Introspection(rule.url, rule.client_id, rule.client_secret, token)
        return Waiting(ask, partial(self._told, moment))

    def _told(self, moment: Moment, answer: bytes | None) -> Verified | Refused:
        told = None if answer is None else told_by(answer)
        if told is None:
            return Refused(NOT_ANSWERED, 503, f"{self._introspect.url} gave no answer")
        if told.active is not True:
            return self.refused("inactive_token", "the issuer says that the token does not hold")
        token = Token(b"", Head(""), told, answer or b"")
        return self._claimed(token, moment) or Verified("introspection")


def told_by(answer: bytes) -> Told | None:
    """What an answer says; None for nonsense."""
    try:
        return msgspec.convert(msgspec.json.decode(answer), Told)
    except (ValueError, RecursionError):
        return None
