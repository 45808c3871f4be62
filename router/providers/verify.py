"""
The one verifier engine: a request, secrets and a time in; Verified or Refused out.

Whatever bytes arrive, the answer is one of the two. A definition is compiled once into its ways
of proof; of several ways one is enough, and all are tried.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers.bearer import JwtScheme
from router.providers.certified import CertifiedScheme
from router.providers.composed import ComposedScheme
from router.providers.credentials import CredentialScheme
from router.providers.definition import Definition, VerifyRule
from router.providers.headers import Ambiguous
from router.providers.introspected import NOT_ANSWERED, IntrospectionScheme
from router.providers.messages import is_plain
from router.providers.scheme import spellings
from router.providers.signed import SignedScheme
from router.providers.waiting import UNKNOWN_KEY, Verdict, Waiting, without_asking

AnyScheme = CredentialScheme | JwtScheme | SignedScheme | ComposedScheme | CertifiedScheme

_SCHEMES: dict[str, type[AnyScheme]] = {
    "token": CredentialScheme,
    "basic": CredentialScheme,
    "jwt": JwtScheme,
    "introspection": IntrospectionScheme,
}
_NEAREST = (
    UNKNOWN_KEY,  # it may yet be proved
    NOT_ANSWERED,
    "stale_timestamp",
    "expired_token",
    "inactive_token",
    "wrong_claims",
    "bad_signature",
    "malformed_timestamp",
    "missing_header",
    "unreadable_body",
    "malformed_signature",
    "untrusted_certificate",
    "ambiguous_header",
)
"""Of several refusals, the one of the way that came nearest; `missing_signature` comes last."""


def _scheme(rule: VerifyRule) -> type[AnyScheme]:
    """How a way is verified: the short way, wherever everything signed is header or body."""
    if rule.certificate is not None:
        return CertifiedScheme
    return _SCHEMES.get(rule.scheme) or (SignedScheme if is_plain(rule) else ComposedScheme)


class Verifier:
    """
    Verifies requests by one definition; never raises, whatever the bytes.

    Without a usable secret, and for a definition that signs nothing, the answer is Refused:
    unsigned requests are let in by `accept_unsigned`, and only where an endpoint says so.
    """

    def __init__(self, definition: Definition) -> None:
        self._status = definition.refuse_with
        self._spellings = spellings(definition)
        signed = [rule for rule in definition.ways if rule.scheme != "none"]
        self._schemes = [_scheme(rule)(definition, rule, self._spellings).verify for rule in signed]
        self._only = self._schemes[0] if len(self._schemes) == 1 else None
        self._all = _all_of if definition.together else _any_of
        self._keyless = any(rule.keyless for rule in signed)

    def verify(
        self,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        *,
        now_ms: int,
        tolerance_s: int | None = None,
    ) -> Verified | Refused:
        """As `judge`, where nobody can be asked: what would wait is refused."""
        verdict = self.judge(request, secrets, now_ms=now_ms, tolerance_s=tolerance_s)
        return without_asking(verdict)

    def judge(
        self,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        *,
        now_ms: int,
        tolerance_s: int | None = None,
    ) -> Verdict:
        """
        Verified by the first secret that fits, or why not, or what it waits for. `tolerance_s`
        overrides the definition's (None) for timestamps that are signed.
        """
        found = self._spellings.collect(request.headers)
        if isinstance(found, Ambiguous):
            return self._ambiguous(found)
        if not self._schemes:
            return self._refused("unsigned_provider", "this provider signs nothing")
        usable = [s for s in secrets if s.value]
        if not usable and not self._keyless:
            return self._refused("no_secret", "the endpoint has no live secret")
        if self._only is not None:
            return self._only(found, request, usable, now_ms, tolerance_s)
        return self._all(
            [verify(found, request, usable, now_ms, tolerance_s) for verify in self._schemes]
        )

    def accept_unsigned(self, request: InboundRequest) -> Verified | Refused:
        """For endpoints with `verify: none`: refused only for an ambiguous event or id header."""
        found = self._spellings.collect(request.headers)
        return self._ambiguous(found) if isinstance(found, Ambiguous) else Verified(None)

    def _ambiguous(self, found: Ambiguous) -> Refused:
        return self._refused("ambiguous_header", f"{found.header} came twice and differs")

    def _refused(self, reason: str, hint: str) -> Refused:
        return Refused(reason, self._status, hint)


def _any_of(each: Sequence[Verdict]) -> Verdict:
    """Of several ways one is enough; who waits is heard before all are refused."""
    for verdict in each:
        if isinstance(verdict, Verified):
            return verdict
    for index, verdict in enumerate(each):
        if isinstance(verdict, Waiting):
            others = [*each[:index], *each[index + 1 :]]
            return Waiting(verdict.ask, partial(_heard, verdict.then, others))
    refused = [verdict for verdict in each if isinstance(verdict, Refused)]
    return min(refused, key=lambda r: (*_NEAREST, r.reason).index(r.reason))


def _heard(then: Callable[[Any], Verdict], others: Sequence[Verdict], given: Any) -> Verdict:
    return _any_of([then(given), *others])


def _all_of(each: Sequence[Verdict]) -> Verdict:
    """Of several ways all are needed; nobody is asked where one has refused already."""
    for verdict in each:
        if isinstance(verdict, Refused):
            return verdict
    for index, verdict in enumerate(each):
        if isinstance(verdict, Waiting):
            others = [*each[:index], *each[index + 1 :]]
            return Waiting(verdict.ask, partial(_all_heard, verdict.then, others))
    return each[0]


def _all_heard(then: Callable[[Any], Verdict], others: Sequence[Verdict], given: Any) -> Verdict:
    return _all_of([*others, then(given)])
