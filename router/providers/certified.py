"""
Signatures by a certificate whose address the request names: fetched, and kept for the next time.

The secret is no key: it says for whom a request must be (`equals`), or is a part of what is signed.
Nothing is fetched for a request that cannot hold whoever has signed it.
"""

from collections.abc import Sequence
from functools import partial

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers.allowed_hosts import is_allowed
from router.providers.certificates import public_key
from router.providers.composed import ComposedScheme
from router.providers.definition import CertificateRule, Definition, VerifyRule
from router.providers.evidence import Evidence, UnreadableProofError, of_place
from router.providers.headers import Spellings
from router.providers.keys import UnusableKeyError
from router.providers.scheme import Found
from router.providers.waiting import UNKNOWN_KEY, PublishedKey, Verdict, Waiting


class CertifiedScheme(ComposedScheme):
    """Verifies by a signature whose certificate is published."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._certificate = rule.certificate or CertificateRule()
        self._address = of_place(self._certificate.place, known)

    def verify(
        self,
        found: Found,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verdict:
        """As for every signature, once the certificate is known."""
        evidence = Evidence(found, request)
        try:
            return self._waiting(evidence, secrets, now_ms, tolerance_s)
        except UnreadableProofError as fault:
            return self.refused(fault.reason, str(fault))

    def _waiting(
        self,
        evidence: Evidence,
        secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verdict:
        address = (self._address(evidence) if self._address else None) or b""
        rule, text = self._certificate, address.decode("latin-1")
        if not address or not (self._proof and self._proof(evidence)):
            return self.missing(evidence.found, evidence.request, "no signature came, or not whose")
        if not is_allowed(text, rule.hosts):
            hint = f"the certificate is not at a host of {' '.join(rule.hosts)}"
            return self.refused("untrusted_certificate", hint)
        if not [s for s in secrets if self._equal(evidence, s.value)]:
            hint = f"the body's {self.rule.equals} is no live secret of this endpoint"
            return self.refused("bad_signature", hint)
        ask = PublishedKey(text, "certificate", rule.hosts, rule.names, rule.chain)
        return Waiting(ask, partial(self._certified, evidence, secrets, now_ms, tolerance_s))

    def _certified(
        self,
        evidence: Evidence,
        secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
        certificate: bytes | None,
    ) -> Verified | Refused:
        """The verdict by a certificate, None while it is not known."""
        try:
            if certificate is None:
                raise UnusableKeyError("the certificate is not known yet")
            evidence.key = public_key(certificate, self._certificate.names, now_ms)
        except UnusableKeyError as fault:
            return Refused(UNKNOWN_KEY, 503, str(fault))
        try:
            return self._judged(evidence, secrets, now_ms, tolerance_s)
        except UnreadableProofError as fault:
            return self.refused(fault.reason, str(fault))


# -- the sender's side ----------------------------------------------------------------------------


def address_of(rule: CertificateRule) -> str:
    """Where a trial's sender publishes its certificate."""
    host = rule.hosts[0]
    return f"https://{'certificates' if host.startswith('.') else ''}{host}/certificate.pem"


def parted(key: bytes) -> tuple[bytes, bytes]:
    """The secret and the private key (PEM) of what a trial's sender signs with."""
    secret, begin, rest = key.partition(b"\n-----BEGIN")
    return secret, b"-----BEGIN" + rest if begin else b""
