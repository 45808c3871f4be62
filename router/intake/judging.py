"""Whether a request is genuine, and what a refused one leaves behind."""

from collections.abc import Callable, Sequence

import msgspec

from router.clock import Clock
from router.intake.awaiting import VerdictSettler
from router.intake.observed import HandshakeAnswered, RequestRefused
from router.intake.reply import Reply, of_refusal
from router.model.addresses import in_ranges
from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.model.headers import kept_headers
from router.model.observed import Observer
from router.model.settings import PUBLISHED, Endpoint
from router.providers.handshakes import HandshakeAnswer
from router.providers.waiting import Verdict, Waiting
from router.refusals import Refusals, is_probe
from router.rules.live import LiveEndpoint, LiveRuleset

_STRANGERS = frozenset({"address_not_allowed", "ranges_unknown"})

Published = Callable[[Endpoint], tuple[str, ...] | None]
"""The address ranges that an endpoint's sender publishes; None: not known yet."""


Genuine = tuple[InboundRequest, Verified]
"""A request that is proved, without what proved it where that is the secret itself."""


class Judge:
    """Judges requests; a refusal is counted, and kept for the operator."""

    def __init__(
        self,
        clock: Clock,
        published: Published,
        refusals: Refusals,
        observe: Observer,
        settler: VerdictSettler,
    ) -> None:
        self._clock, self._published, self._settler = clock, published, settler
        self._refusals, self._observe = refusals, observe

    def judged(
        self, live: LiveRuleset, endpoint: LiveEndpoint, request: InboundRequest
    ) -> Genuine | Reply:
        """The genuine request, or the answer to a refused one or to a handshake."""
        request = _addressed(endpoint.settings, request)
        now_ms = self._clock.now()
        secrets = live.secrets.verifying(endpoint.settings.secrets, now_ms)
        verdict = self._verdict(endpoint, request, secrets, now_ms)
        if isinstance(verdict, Verified) and not endpoint.provider.particular:
            return request, verdict  # most of all that comes, without a step more
        if isinstance(verdict, Waiting):
            verdict = self._settler.looked_up(request.peer, verdict)
        return self._ended(endpoint, request, secrets, verdict)

    async def waited(
        self, live: LiveRuleset, endpoint: LiveEndpoint, request: InboundRequest
    ) -> Genuine | Reply:
        """The same of an endpoint about whose requests others are asked."""
        request = _addressed(endpoint.settings, request)
        now_ms = self._clock.now()
        secrets = live.secrets.verifying(endpoint.settings.secrets, now_ms)
        verdict = self._verdict(endpoint, request, secrets, now_ms)
        if isinstance(verdict, Waiting):
            verdict = await self._settler.heard(live, endpoint.name, request.peer, verdict)
        return self._ended(endpoint, request, secrets, verdict)

    def _verdict(
        self,
        endpoint: LiveEndpoint,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        now_ms: int,
    ) -> Verdict | HandshakeAnswer:
        settings, provider = endpoint.settings, endpoint.provider
        if settings.allow_from:
            stranger = self._stranger(settings, request.peer)
            if stranger is not None:
                return stranger
        if provider.particular:
            unproved = provider.unproved(request, secrets)
            if unproved is not None:
                return unproved
        if settings.unsigned:
            return provider.accept_unsigned(request)
        return provider.judge(request, secrets, now_ms=now_ms, tolerance_s=settings.tolerance_s)

    def _ended(
        self,
        endpoint: LiveEndpoint,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        verdict: Verified | Refused | HandshakeAnswer,
    ) -> Genuine | Reply:
        provider = endpoint.provider
        if provider.particular and isinstance(verdict, Verified):
            verdict = provider.answer(request, secrets, verdict) or verdict
        if isinstance(verdict, HandshakeAnswer):
            return self._answered(endpoint, request, verdict)
        if isinstance(verdict, Refused):
            return self.refused(endpoint, verdict, request.peer, request.headers, request)
        return (provider.hidden(request) if provider.particular else request), verdict

    def _answered(
        self, endpoint: LiveEndpoint, request: InboundRequest, answer: HandshakeAnswer
    ) -> Reply:
        self._observe(HandshakeAnswered(endpoint.name, request.peer, answer.visit))
        return Reply(answer.status, answer.body, answer.content_type, headers=answer.headers)

    def refused(
        self,
        endpoint: LiveEndpoint | None,
        refused: Refused,
        peer: str,
        headers: Sequence[tuple[bytes, bytes]],
        request: InboundRequest | None = None,
    ) -> Reply:
        """Note a refusal, of a whole `request` if it was judged; the answer to it."""
        name, probe = endpoint.name if endpoint else None, is_probe(headers, refused.reason)
        self._observe(RequestRefused(name, refused, peer, judged=request is not None, probe=probe))
        if not probe:
            now = self._clock.now()
            self._refusals.add(
                {
                    "at": now,
                    "endpoint": name,
                    "reason": refused.reason,
                    "status": refused.status,
                    "peer": peer,
                    "hint": refused.hint,
                    "kept": self._keep(endpoint, refused, request, now),
                }
            )
        return of_refusal(endpoint, refused)

    def _stranger(self, endpoint: Endpoint, peer: str) -> Refused | None:
        """Who may not deliver here. Ranges that nobody knows yet let nobody in."""
        if in_ranges(peer, tuple(r for r in endpoint.allow_from if r != PUBLISHED)):
            return None
        if PUBLISHED in endpoint.allow_from:
            published = self._published(endpoint)
            if published is None:
                return Refused("ranges_unknown", 503)
            if in_ranges(peer, published):
                return None
        return Refused("address_not_allowed", 403)

    def _keep(
        self,
        endpoint: LiveEndpoint | None,
        refused: Refused,
        request: InboundRequest | None,
        now: int,
    ) -> str | None:
        """Keep what was judged and found unproved, without credentials; nothing of strangers."""
        if endpoint is None or request is None or refused.reason in _STRANGERS:
            return None
        if not self._refusals.wanted():
            return None
        texts = kept_headers(request.headers)
        headers = tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in texts)
        clean = endpoint.provider.hidden(msgspec.structs.replace(request, headers=headers))
        return self._refusals.keep(endpoint.name, refused.reason, now, clean)


def _addressed(settings: Endpoint, request: InboundRequest) -> InboundRequest:
    """With the address that the sender was told, if the endpoint says which."""
    if settings.public_url:
        return msgspec.structs.replace(request, public_url=settings.public_url)
    return request
