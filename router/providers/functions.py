"""The way of proof `python`: a function of `plugins/` says whether a request is genuine."""

from collections.abc import Sequence

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers.definition import Definition, VerifyRule
from router.providers.headers import Spellings
from router.providers.scheme import Found, Scheme
from router.providers.waiting import FunctionProof, Verdict, Waiting

PROOF_FAILED = "proof_failed"
"""The reason of a refusal because the function said neither yes nor no."""


class FunctionScheme(Scheme):
    """Verifies by what a function says, which nothing but its True makes genuine."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._function = rule.function or ""

    def verify(
        self,
        found: Found,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        _now_ms: int,
        _tolerance_s: int | None,
    ) -> Verdict:
        """Waits for the answer, if the header that it reads is there."""
        if self._header and not found.get(self._header):
            return self.missing(found, request)
        ask = FunctionProof(self._function, request.body, request.headers, tuple(secrets))
        return Waiting(ask, self._said)

    def _said(self, answer: object) -> Verified | Refused:
        if answer is True:
            return Verified("python")
        if answer is False:
            return self.refused("bad_signature", f"{self._function} says so")
        why = "it was not run" if answer is None else str(answer)
        return Refused(PROOF_FAILED, 503, f"{self._function}: {why}")
