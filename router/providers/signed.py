"""Ways of proof that sign the body: hmac, ecdsa, ed25519; one signature or a list of them."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers import hints
from router.providers.definition import PLACEHOLDER, Definition, VerifyRule, duration_s
from router.providers.headers import Spellings
from router.providers.messages import STAMP
from router.providers.scheme import Found, Scheme, is_stale
from router.providers.signatures import DECODERS, Candidates, check_for, signature_size
from router.providers.times import READERS, SAID

SIGNATURE_BYTES_MAX = 1024
LIST_BYTES_MAX = 8192
ENTRIES_MAX = 32
_BLANK = ord(" ")
"""As a number: a byte is found in a fifth of the time of a text of one byte."""


class SignatureScheme(Scheme):
    """How a signature, or a list of them, is read and checked."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._separator = rule.separator.encode("ascii")
        self._stamp_part = rule.timestamp_part.encode("ascii")
        self._decode = DECODERS[rule.encoding]
        self._size = signature_size(rule)
        self._check = check_for(rule)
        self._read_time = READERS[rule.time]
        self._tolerance_s = None if rule.tolerance is None else int(duration_s(rule.tolerance))

    def _single(self, text: bytes) -> Candidates:
        if not text.startswith(self._lead) or len(text) > SIGNATURE_BYTES_MAX:
            return ()
        raw, size = self._decode(text[len(self._lead) :]), self._size
        return (raw,) if raw is not None and (size is None or len(raw) == size) else ()

    def _several(self, text: bytes, found: Found) -> Candidates:
        """The signatures of a list; a timestamp in it goes to `found`. Other entries may be."""
        entries = text.split(self._separator) if len(text) <= LIST_BYTES_MAX else []
        if _BLANK in text:
            entries = [entry.strip(b" ") for entry in entries]
        if len(entries) > ENTRIES_MAX or not self._stamped(entries, found):
            return ()
        return tuple(raw for entry in entries for raw in self._single(entry))

    def _stamped(self, entries: list[bytes], found: Found) -> bool:
        """Put the list's timestamp among the headers; False when two differ."""
        if not self._stamp_part:
            return True
        size = len(self._stamp_part)
        stamps = {entry[size:] for entry in entries if entry.startswith(self._stamp_part)}
        found.pop(STAMP, None)
        if len(stamps) == 1:
            found[STAMP] = stamps.pop()
        return len(stamps) < 2

    def malformed_timestamp(self) -> Refused:
        """The refusal of a time that is not written as it should be."""
        return self.refused("malformed_timestamp", f"the timestamp is not {SAID[self.rule.time]}")

    def stale(self) -> Refused:
        """The refusal of a time that is too far from ours."""
        return self.refused("stale_timestamp", "the signed time is too far from our clock")


class MessagePart(NamedTuple):
    """A piece of the signed message: the body, literal text, or a part of the headers."""

    kind: Literal["body", "text", "header", "due"]
    value: bytes = b""


class SignedScheme(SignatureScheme):
    """Verifies by a signature in a header over the body and over headers: the short way."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._timestamp = timestamp_part(rule, known)
        self._template = message_template(definition, rule, known)

    def verify(  # noqa: PLR0911 - one line a refusal, without steps between: every delivery's way
        self,
        found: Found,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verified | Refused:
        """Verified by the first secret that fits, or why not."""
        if not (text := found.get(self._header)):
            return self.missing(found, request)
        signatures = self._several(text, found) if self._separator else self._single(text)
        if not signatures:
            hint = hints.for_malformed(text, self._lead, self.rule.encoding)
            return self.refused("malformed_signature", hint)
        message = filled(self._template, found, request.body)
        if message is None:
            return self.refused("missing_header", "something that is signed did not come")
        stamp = None if self._timestamp is None else found[self._timestamp]
        signed_ms = None if stamp is None else self._read_time(stamp)
        if stamp is not None and signed_ms is None:
            return self.malformed_timestamp()
        check = self._check
        # No early exit: the time must not tell which secret, or how many, came before the match.
        fitting = []  # by a loop: to a comprehension they would be cells, and each use a step more
        for secret in secrets:
            if check(secret.value, signatures, message):
                fitting.append(secret.name)
        if not fitting:
            hint = self._why(found, request, secrets, signatures)
            return self.refused("bad_signature", hint)
        allowed = self._tolerance_s if tolerance_s is None else tolerance_s
        if signed_ms is not None and allowed is not None and is_stale(signed_ms, allowed, now_ms):
            return self.stale()
        return Verified(fitting[0])

    def _why(
        self,
        found: Found,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        signatures: Candidates,
    ) -> str:
        def fits(other: InboundRequest, secret: bytes) -> bool:
            message = filled(self._template, found, other.body)
            return message is not None and self._check(secret, signatures, message)

        return hints.for_misfit(fits, request, secrets)


def timestamp_part(rule: VerifyRule, known: Spellings) -> bytes | None:
    """Where the signed timestamp stands; None where none is signed."""
    return STAMP if rule.timestamp_part else known.part(rule.stamp.header)


def message_template(
    definition: Definition, rule: VerifyRule, known: Spellings
) -> tuple[MessagePart, ...]:
    """The signed message, ready to be filled."""
    parts: list[MessagePart] = []
    # re.split with one group alternates: literal, placeholder, literal, …
    for index, piece in enumerate(PLACEHOLDER.split(rule.message)):
        if index % 2:
            parts.append(_placeholder(piece, definition, rule, known))
        elif piece:
            parts.append(MessagePart("text", piece.encode("ascii")))
    return tuple(parts)


def _placeholder(
    word: str, definition: Definition, rule: VerifyRule, known: Spellings
) -> MessagePart:
    if word == "body":
        return MessagePart("body")
    if word == "timestamp":
        return MessagePart("header", timestamp_part(rule, known) or b"")
    if word == "id":
        return MessagePart("due", known.part(definition.id.header if definition.id else ()) or b"")
    return MessagePart("header", known.part(word.removeprefix("header:")) or b"")


def filled(template: tuple[MessagePart, ...], found: Found, body: bytes) -> list[bytes] | None:
    """The message's parts, or None when a signed header did not come (or is empty where due)."""
    message = []
    for kind, value in template:
        if kind == "body":
            message.append(body)
        elif kind == "text":
            message.append(value)
        elif value in found and (kind == "header" or found[value]):
            message.append(found[value])
        else:
            return None
    return message
