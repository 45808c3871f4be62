"""
Ways of proof of which more than headers and the body's bytes play a part: the general way.

The signature may stand in the query or in the body, each item of a batch may have its own, and
what is signed is put together from all parts of a request. `signed.py` is the short way.
"""

import hmac
from collections.abc import Sequence

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers import hints
from router.providers.definition import Definition, ProofPlace, VerifyRule
from router.providers.evidence import (
    Evidence,
    UnreadableProofError,
    judged_each,
    of_field,
    of_header,
    of_place,
)
from router.providers.headers import Spellings
from router.providers.messages import STAMP, MessageTemplate
from router.providers.scheme import Found, is_stale
from router.providers.signatures import Candidates
from router.providers.signed import SignatureScheme
from router.providers.waiting import Verdict


class ComposedScheme(SignatureScheme):
    """Verifies by a signature over a message of any parts."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._proof = of_place(ProofPlace(rule.header, rule.query, rule.field), known)
        self._stamp = of_header(STAMP) if rule.timestamp_part else of_place(rule.stamp, known)
        hashed = rule.body_hash
        self._hash = None if hashed is None else of_place(hashed.place, known)
        self._equals = None if rule.equals is None else of_field(rule.equals)
        self._template = MessageTemplate(definition, rule, known)

    def verify(
        self,
        found: Found,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verdict:
        """Verified by the first secret that fits (of several items: the last), or why not."""

        def judged(one: Evidence) -> Verified | Refused:
            return self._judged(one, secrets, now_ms, tolerance_s)

        return judged_each(self, Evidence(found, request), judged)

    def _judged(
        self,
        evidence: Evidence,
        secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verified | Refused:
        text = self._proof(evidence) if self._proof else None
        if not text:
            return self.missing(evidence.found, evidence.request, self._where())
        signatures = self._several(text, evidence.found) if self._separator else self._single(text)
        if not signatures:
            hint = hints.for_malformed(text, self._lead, self.rule.encoding)
            return self.refused("malformed_signature", hint)
        if self._template.filled(evidence) is None:
            return self.refused("missing_header", self._unfilled(evidence))
        # No early exit: the time must not tell which secret, or how many, came before the match.
        fitting = [s.name for s in secrets if self._fits(evidence, signatures, s.value)]
        if not fitting:
            return self.refused("bad_signature", self._why(evidence, signatures, secrets))
        allowed = self._tolerance_s if tolerance_s is None else tolerance_s
        return self._untimely(evidence, allowed, now_ms) or Verified(fitting[0])

    def _fits(self, evidence: Evidence, signatures: Candidates, secret: bytes) -> bool:
        """Does this secret make a signature true, and everything else that must hold?"""
        message = self._template.filled(evidence, secret)
        return (
            message is not None
            and self._check(evidence.key or secret, signatures, message)
            & self._equal(evidence, secret)
            and self._hash_fits(evidence)
        )

    def _equal(self, evidence: Evidence, secret: bytes) -> bool:
        return self._equals is None or hmac.compare_digest(self._equals(evidence) or b"", secret)

    def _hash_fits(self, evidence: Evidence) -> bool:
        if self._hash is None:
            return True
        stated = (self._hash(evidence) or b"").lower()
        return hmac.compare_digest(stated, evidence.body_sha256)

    def _untimely(self, evidence: Evidence, allowed: int | None, now_ms: int) -> Refused | None:
        """Why the signed time does not do; it is proved now, so a body of any size is read."""
        if self._stamp is None or allowed is None:
            return None
        evidence.proved = True
        signed_ms = self._read_time(self._stamp(evidence) or b"")
        if signed_ms is None:
            return self.malformed_timestamp()
        return self.stale() if is_stale(signed_ms, allowed, now_ms) else None

    # -- words for the operator -------------------------------------------------------------------

    def _where(self) -> str:
        """Where a signature was due that is no header's."""
        if self.rule.query is not None:
            return f"no signature came in the query parameter {self.rule.query}"
        return f"no signature came in the body's field {self.rule.field}" if self.rule.field else ""

    def _unfilled(self, evidence: Evidence) -> str:
        if "{url}" in self.rule.message and evidence.url is None:
            return "the signed address is not known: set `public_url` of the endpoint"
        return "something that is signed did not come"

    def _why(
        self, evidence: Evidence, signatures: Candidates, secrets: Sequence[LiveSecret]
    ) -> str:
        if not self._hash_fits(evidence):
            return "body altered: its SHA-256 is not the one that came with it"

        def fits(request: InboundRequest, secret: bytes) -> bool:
            try:
                return self._fits(evidence.of(request), signatures, secret)
            except UnreadableProofError:
                return False

        return hints.for_misfit(
            fits, evidence.request, secrets, by_url="{url}" in self.rule.message
        )
