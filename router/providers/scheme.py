"""What all ways of proof share: the shape of a way, and the words of a refusal."""

from router.model.delivery import InboundRequest, Refused
from router.providers import hints
from router.providers.definition import PLACEHOLDER, Definition, VerifyRule
from router.providers.headers import Spellings

Found = dict[bytes, bytes]
"""The headers that play a part, by part."""


class Scheme:
    """
    One way of proof, compiled. Subclasses say how it verifies: never raising, every secret tried,
    in constant time and without an early exit, so neither the time nor the answer tells a stranger
    which one is near.
    """

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        self.rule = rule
        self._status = definition.refuse_with
        self._names = definition.names
        self._header = known.part(rule.place) or b""
        self._lead = rule.lead.encode("ascii")

    def refused(self, reason: str, hint: str) -> Refused:
        """A refusal with the status that this sender is to get."""
        return Refused(reason, self._status, hint)

    def missing(self, found: Found, request: InboundRequest, what: str = "") -> Refused:
        """The refusal of a request without the proof (`what`) of this way."""
        hint = hints.for_missing(found, request.headers, what, self._names)
        return self.refused("missing_signature", hint)


def spellings(definition: Definition) -> Spellings:
    """The headers that may not come twice: proof, timestamp, event, id, signed ones."""
    # The id first: where a signature's own id header is among its spellings, they are one part.
    parts = [definition.id.header if definition.id else (), definition.event.header]
    for rule in definition.ways:
        parts += [rule.place, rule.stamp.header]
        parts += [rule.body_hash.header] if rule.body_hash else []
        parts += [rule.certificate.header] if rule.certificate else []
        words = PLACEHOLDER.findall(rule.message)
        parts += [word.removeprefix("header:") for word in words if word.startswith("header:")]
    return Spellings(parts)


def is_stale(timestamp_ms: int, tolerance_s: int, now_ms: int) -> bool:
    """Is a signed time too far from our clock, before or after?"""
    return abs(now_ms - timestamp_ms) > tolerance_s * 1000
