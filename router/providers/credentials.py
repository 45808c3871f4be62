"""
Ways of proof that show the secret itself: a token in a header or query, a user and password.

Such a proof does not cover the body, and what shows it is hidden before anything keeps it.
"""

import binascii
import hashlib
import hmac
from collections.abc import Sequence

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers import hints, keys
from router.providers.definition import Definition, VerifyRule
from router.providers.evidence import Evidence, judged_each, of_field
from router.providers.headers import Spellings
from router.providers.queries import parameters
from router.providers.scheme import Found, Scheme

TOKEN_BYTES_MAX = 4096


class CredentialScheme(Scheme):
    """Verifies by a token that equals the secret, or by the user and password of `basic`."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._query = None if rule.query is None else rule.query.encode("ascii")
        self._field = None if rule.field is None else of_field(rule.field)
        self._basic = rule.scheme == "basic"
        self._user = None if rule.user is None else rule.user.encode("utf-8") + b":"
        where = f"the query parameter {rule.query}" if rule.query else "its header"
        where = f"the body's field {rule.field}" if rule.field else where
        self._missing = "no user and password came" if self._basic else f"no token came in {where}"
        self._malformed = (
            "malformed: not `Basic` and the base64 of user:password"
            if self._basic
            else f"malformed token: it does not begin with `{rule.lead}`"
        )

    def verify(
        self,
        found: Found,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        _now_ms: int,
        _tolerance_s: int | None,
    ) -> Verified | Refused:
        """Verified by the first secret that equals what is shown, or why not."""
        if (read := self._field) is None:
            return self._judged(self._shown(found, request), secrets)
        missing = self.missing(found, request, self._missing)

        def judged(one: Evidence) -> Verified | Refused:
            return self._judged(read(one) or missing, secrets)

        return judged_each(self, Evidence(found, request), judged)

    def _judged(self, shown: bytes | Refused, secrets: Sequence[LiveSecret]) -> Verified | Refused:
        if isinstance(shown, Refused):
            return shown
        token = led(shown, self._lead)
        if self._basic:
            token = _pair(token)
        if token is None or len(token) > TOKEN_BYTES_MAX:
            return self.refused("malformed_signature", self._malformed)
        if (winner := equal_one(token, secrets, self._user)) is not None:
            return Verified(winner.name)
        hint = hints.for_token(token, self._lead, secrets) if not self._basic else _WRONG_USER
        return self.refused("bad_signature", hint)

    def _shown(self, found: Found, request: InboundRequest) -> bytes | Refused:
        if self._query is None:
            text = found.get(self._header)
        else:
            values = {v for n, v in parameters(request.query_string) if n == self._query}
            if len(values) > 1:
                return self.refused(
                    "ambiguous_header", f"{self._query.decode()} came twice and differs"
                )
            text = next(iter(values), b"")
        return text or self.missing(found, request, self._missing)


_WRONG_USER = "wrong user or password"


def led(text: bytes, lead: bytes) -> bytes | None:
    """What follows a lead; the name of an authorization scheme (`Bearer `) in any case."""
    head = text[: len(lead)]
    fits = head.lower() == lead.lower() if lead.endswith(b" ") else head == lead
    return text[len(lead) :] if fits else None


def _pair(text: bytes | None) -> bytes | None:
    if text is None or len(text) > TOKEN_BYTES_MAX:
        return None
    try:
        pair = binascii.a2b_base64(text.strip(b" "), strict_mode=True)
    except binascii.Error:
        return None
    return pair if b":" in pair else None


def equal_one(
    shown: bytes, secrets: Sequence[LiveSecret], before: bytes | None = None
) -> LiveSecret | None:
    """The first secret (after `before`) that equals what is shown; all are compared."""
    # Digests are of one length, so that not even a secret's length leaks.
    digest = hashlib.sha256(shown).digest()
    fitting = [s for s in secrets if _same(digest, s.value, before)]
    return fitting[0] if fitting else None


def _same(digest: bytes, secret: bytes, before: bytes | None) -> bool:
    usable = not keys.is_empty(secret) and keys.kind_of_pair(secret) is None
    expected = hashlib.sha256((before or b"") + secret).digest()
    return hmac.compare_digest(digest, expected) and usable
