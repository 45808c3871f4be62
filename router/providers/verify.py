"""
The one verifier engine: a request, secrets and a time in; Verified or Refused out.

Whatever bytes arrive, the answer is one of the two. A definition is compiled once into its ways
of proof; of several ways one is enough, and all are tried.
"""

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers.bearer import JwtWay
from router.providers.credentials import BasicWay, TokenWay
from router.providers.definition import Definition, VerifyRule
from router.providers.headers import Ambiguous, Spellings
from router.providers.scheme import Found, Judge, spellings
from router.providers.signed import SignedWay

_TELLING = (
    "stale_timestamp",
    "expired_token",
    "wrong_claims",
    "bad_signature",
    "malformed_timestamp",
    "missing_header",
    "malformed_signature",
    "ambiguous_header",
)
"""Of several refusals, the one of the way that came nearest; `missing_signature` comes last."""


class Verifier:
    """Judges requests by one definition."""

    def __init__(self, definition: Definition) -> None:
        self._status = definition.refuse_with
        self._spellings = spellings(definition)
        signed = [rule for rule in definition.ways if rule.scheme != "none"]
        self._judges = [_compiled(definition, rule, self._spellings) for rule in signed]
        self._only = self._judges[0] if len(self._judges) == 1 else None

    def verify(
        self,
        request: InboundRequest,
        secrets: tuple[LiveSecret, ...],
        *,
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verified | Refused:
        """Verified by the first secret that fits, or why not."""
        found = self._spellings.collect(request.headers)
        if isinstance(found, Ambiguous):
            return self._ambiguous(found)
        if not self._judges:
            return self._refused("unsigned_provider", "this provider signs nothing")
        if not secrets:
            return self._refused("no_secret", "the endpoint has no live secret")
        if self._only is not None:
            return self._only(found, request, secrets, now_ms, tolerance_s)
        return self._any(found, request, secrets, now_ms, tolerance_s)

    def _any(
        self,
        found: Found,
        request: InboundRequest,
        secrets: tuple[LiveSecret, ...],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verified | Refused:
        each = [judge(found, request, secrets, now_ms, tolerance_s) for judge in self._judges]
        good = [verdict for verdict in each if isinstance(verdict, Verified)]
        return good[0] if good else min(each, key=_distance)

    def unambiguous(self, request: InboundRequest) -> Refused | None:
        """The refusal of an unsigned request that names its event or id twice, if it does."""
        found = self._spellings.collect(request.headers)
        return self._ambiguous(found) if isinstance(found, Ambiguous) else None

    def _ambiguous(self, found: Ambiguous) -> Refused:
        return self._refused("ambiguous_header", f"{found.header} came twice and differs")

    def _refused(self, reason: str, hint: str) -> Refused:
        return Refused(reason, self._status, hint)


def _compiled(definition: Definition, rule: VerifyRule, known: Spellings) -> Judge:
    if rule.scheme == "token":
        return TokenWay(definition, rule, known).judge
    if rule.scheme == "basic":
        return BasicWay(definition, rule, known).judge
    if rule.scheme == "jwt":
        return JwtWay(definition, rule, known).judge
    return SignedWay(definition, rule, known).judge


def _distance(verdict: Verified | Refused) -> int:
    reason = verdict.reason if isinstance(verdict, Refused) else ""
    return _TELLING.index(reason) if reason in _TELLING else len(_TELLING)
