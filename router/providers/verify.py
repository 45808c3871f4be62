"""
The one verifier engine: a request, secrets and a time in; Verified or Refused out.

Whatever bytes arrive, the answer is one of the two. Every live secret is tried, in constant time
and without an early exit, so neither the time nor the answer tells a stranger which one is near.
"""

from typing import Literal

import msgspec

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers import hints
from router.providers.definition import PLACEHOLDER, Definition, duration_s
from router.providers.headers import Ambiguous, Spellings
from router.providers.signatures import DECODERS, Check, check_for, signature_size

TIMESTAMP_DIGITS_MAX = 12
SIGNATURE_BYTES_MAX = 1024


class Proof(msgspec.Struct, frozen=True):
    """What a request offers: its signature, the signed message in parts, and its timestamp."""

    signature: bytes
    message: tuple[bytes, ...]
    body_at: int
    timestamp_s: int | None


class Verifier:
    """Judges requests by one definition."""

    def __init__(self, definition: Definition) -> None:
        rule = definition.verify
        self._status = definition.refuse_with
        self._spellings = spellings(definition)
        self._signature = self._spellings.part(rule.header)
        self._timestamp = self._spellings.part(rule.timestamp)
        self._prefix = rule.prefix.encode("ascii")
        self._decode = DECODERS[rule.encoding]
        self._encoding = rule.encoding
        self._size = signature_size(rule.scheme, rule.algorithm)
        self._template = message_template(definition, self._spellings)
        self._body_at = [part.kind for part in self._template].index("body")
        self._check = check_for(rule.scheme, rule.algorithm)
        self._tolerance_s = None if rule.tolerance is None else int(duration_s(rule.tolerance))

    def verify(
        self,
        request: InboundRequest,
        secrets: tuple[LiveSecret, ...],
        *,
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verified | Refused:
        """Verified by the first secret that fits, or why not."""
        proof = self._proof(request, secrets)
        if isinstance(proof, Refused):
            return proof
        winner = _winner(self._check, secrets, proof)
        if winner is None:
            return self._bad(secrets, proof)
        allowed = self._tolerance_s if tolerance_s is None else tolerance_s
        if _is_stale(proof.timestamp_s, allowed, now_ms):
            return self._refused("stale_timestamp", "the signed time is too far from our clock")
        return Verified(winner.name)

    def unambiguous(self, request: InboundRequest) -> Refused | None:
        """The refusal of an unsigned request that names its event or id twice, if it does."""
        found = self._spellings.collect(request.headers)
        return self._ambiguous(found) if isinstance(found, Ambiguous) else None

    def _proof(self, request: InboundRequest, secrets: tuple[LiveSecret, ...]) -> Proof | Refused:
        """What there is to check, if there is something to check it against."""
        found = self._spellings.collect(request.headers)
        if isinstance(found, Ambiguous):
            return self._ambiguous(found)
        if self._signature is None:
            return self._refused("unsigned_provider", "this provider signs nothing")
        if not secrets:
            return self._refused("no_secret", "the endpoint has no live secret")
        text = found.get(self._signature)
        if not text:
            hint = hints.for_missing(bool(found), request.headers)
            return self._refused("missing_signature", hint)
        return self._read_proof(text, found, request.body)

    def _read_proof(self, text: bytes, found: dict[bytes, bytes], body: bytes) -> Proof | Refused:
        signature = self._decoded(text)
        if signature is None:
            hint = hints.for_malformed(text, self._prefix, self._encoding)
            return self._refused("malformed_signature", hint)
        message = filled(self._template, found, body)
        if message is None:
            return self._refused("missing_header", "a header that is signed did not come")
        if self._timestamp is None:
            return Proof(signature, message, self._body_at, None)
        stamp = found[self._timestamp]
        if len(stamp) > TIMESTAMP_DIGITS_MAX or not stamp.isdigit():
            return self._refused("malformed_timestamp", "the timestamp is not Unix seconds")
        return Proof(signature, message, self._body_at, int(stamp))

    def _decoded(self, text: bytes) -> bytes | None:
        if not text.startswith(self._prefix) or len(text) > SIGNATURE_BYTES_MAX:
            return None
        raw = self._decode(text[len(self._prefix) :])
        if raw is None or (self._size is not None and len(raw) != self._size):
            return None
        return raw

    def _bad(self, secrets: tuple[LiveSecret, ...], proof: Proof) -> Refused:
        known = (proof.signature, proof.message, proof.body_at)
        return self._refused("bad_signature", hints.for_bad(self._check, secrets, known))

    def _ambiguous(self, found: Ambiguous) -> Refused:
        return self._refused("ambiguous_header", f"{found.header} came twice and differs")

    def _refused(self, reason: str, hint: str) -> Refused:
        return Refused(reason, self._status, hint)


def spellings(definition: Definition) -> Spellings:
    """The headers that may not come twice: signature, timestamp, event, id, signed ones."""
    rule, parts = definition.verify, [definition.verify.header, definition.verify.timestamp]
    parts.append(definition.event.header)
    parts.append(definition.id.header if definition.id else ())
    words = PLACEHOLDER.findall(rule.message)
    parts += [word.removeprefix("header:") for word in words if word.startswith("header:")]
    return Spellings(parts)


class Part(msgspec.Struct, frozen=True):
    """A piece of the signed message: the body, literal text, or a part of the headers."""

    kind: Literal["body", "text", "header"]
    value: bytes = b""


def message_template(definition: Definition, known: Spellings) -> tuple[Part, ...]:
    """The signed message, ready to be filled."""
    parts: list[Part] = []
    # re.split with one group alternates: literal, placeholder, literal, …
    for index, piece in enumerate(PLACEHOLDER.split(definition.verify.message)):
        if index % 2:
            parts.append(_placeholder(piece, definition, known))
        elif piece:
            parts.append(Part("text", piece.encode("ascii")))
    return tuple(parts)


def _placeholder(word: str, definition: Definition, known: Spellings) -> Part:
    if word == "body":
        return Part("body")
    if word == "timestamp":
        names = definition.verify.timestamp
    elif word == "id":
        names = definition.id.header if definition.id else ()
    else:
        names = word.removeprefix("header:")
    return Part("header", known.part(names) or b"")


def filled(
    template: tuple[Part, ...], found: dict[bytes, bytes], body: bytes
) -> tuple[bytes, ...] | None:
    """The message's parts, or None when a signed header did not come."""
    message = []
    for part in template:
        value = body if part.kind == "body" else part.value
        if part.kind == "header":
            if part.value not in found:
                return None
            value = found[part.value]
        message.append(value)
    return tuple(message)


def _winner(check: Check, secrets: tuple[LiveSecret, ...], proof: Proof) -> LiveSecret | None:
    # No early exit: the time must not tell which secret, or how many, came before the match.
    fitting = [s for s in secrets if check(s.value, proof.signature, proof.message)]
    return fitting[0] if fitting else None


def _is_stale(timestamp_s: int | None, tolerance_s: int | None, now_ms: int) -> bool:
    if timestamp_s is None or tolerance_s is None:
        return False
    return abs(now_ms - timestamp_s * 1000) > tolerance_s * 1000
