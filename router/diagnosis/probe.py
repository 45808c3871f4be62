"""
One way of proof that signs, tried with other readings of the signature than its sender's.

For diagnosis only: the verifier itself reads a signature in one way.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote_to_bytes

import msgspec

from router.model.delivery import InboundRequest, LiveSecret, Verified
from router.providers.definition import Definition, ProofPlace, VerifyRule
from router.providers.evidence import Evidence, Reader, UnreadableProofError, of_header, of_place
from router.providers.messages import STAMP, MessageTemplate, header_parts
from router.providers.provider import Provider
from router.providers.scheme import Found, spellings
from router.providers.signatures import DECODERS, check_for, signature_size
from router.providers.times import READERS

TEXT_MAX = 8192
READINGS_MAX = 64
ANY_AGE_S = 10**12
_LEAD = re.compile(rb"[A-Za-z0-9_.-]{1,20}[=,:]")
_AROUND = b" \t\r\n\"'"


class SignatureReading(msgspec.Struct, frozen=True):
    """A signature as bytes, and how the header had to be read for it; None: as it should be."""

    raw: bytes
    how: str | None


class Probe:
    """
    Asks whether a secret and a body make a signature of this request true. `missing` are headers
    that are part of the signed text and did not come.
    """

    def __init__(self, definition: Definition, rule: VerifyRule, request: InboundRequest) -> None:
        known = spellings(definition)
        self._definition, self._rule = definition, rule
        self.signs_url = "{url}" in rule.message
        self._found: Found = known.first(request.headers)
        self._request = request
        self._stamp = of_header(STAMP) if rule.timestamp_part else of_place(rule.stamp, known)
        self._template = MessageTemplate(definition, rule, known)
        self._check = check_for(rule)
        proof = of_place(ProofPlace(rule.header, rule.query, rule.field), known)
        self.text = (proof and self._value(proof)) or b""
        self.readings = self.read(self.text)
        due = header_parts(definition, rule, known)
        self.missing = sorted(part.decode("latin-1") for part in due if part not in self._found)

    def at(self, url: str) -> "Probe":
        """The same for a sender who was told this address."""
        request = msgspec.structs.replace(self._request, public_url=url)
        return Probe(self._definition, self._rule, request)

    def _value(self, read: Reader) -> bytes | None:
        try:
            return read(Evidence(self._found, self._request))
        except UnreadableProofError:
            return None

    def read(self, text: bytes) -> tuple[SignatureReading, ...]:
        """The signatures that a text may hold, those written as they should be first."""
        if not text or len(text) > TEXT_MAX:
            return ()
        self._take_stamp(text)
        found: dict[bytes, str | None] = {}
        for raw, how in _readings(text, self._rule):
            if how is None or raw not in found:
                found[raw] = how
        size = signature_size(self._rule)
        fitting = [
            SignatureReading(raw, how) for raw, how in found.items() if size in (None, len(raw))
        ]
        return tuple(sorted(fitting, key=lambda one: one.how is not None))[:READINGS_MAX]

    def fits(
        self, secret: bytes, body: bytes, readings: tuple[SignatureReading, ...] | None = None
    ) -> SignatureReading | None:
        """The reading of the signature that this secret and body make true."""
        chosen = self.readings if readings is None else readings
        message = self._message(secret, body) if chosen else None
        if message is None or not self._check(secret, tuple(one.raw for one in chosen), message):
            return None
        return next(one for one in chosen if self._check(secret, (one.raw,), message))

    def _message(self, secret: bytes, body: bytes) -> list[bytes] | None:
        request = msgspec.structs.replace(self._request, body=body)
        try:
            return self._template.filled(Evidence(self._found, request), secret)
        except UnreadableProofError:
            return None

    @property
    def timestamp_s(self) -> int | None:
        """The signed time in Unix seconds, None if there is none to read."""
        stamp = self._stamp and self._value(self._stamp)
        signed_ms = READERS[self._rule.time](stamp) if stamp else None
        return None if signed_ms is None else signed_ms // 1000

    def _take_stamp(self, text: bytes) -> None:
        """Put the timestamp that is part of a list where the template looks for it."""
        if lead := self._rule.timestamp_part.encode("ascii"):
            for entry in text.split(self._rule.separator.encode("ascii")):
                if entry.strip(_AROUND).startswith(lead):
                    self._found[STAMP] = entry.strip(_AROUND)[len(lead) :]


def known_senders(
    request: InboundRequest, secrets: Sequence[LiveSecret], providers: Iterable[Provider]
) -> list[Provider]:
    """The providers that are not generic and verify the request, whatever its time."""
    return [p for p in providers if not p.definition.generic and verifies(p, request, secrets)]


def verifies(provider: Provider, request: InboundRequest, secrets: Sequence[LiveSecret]) -> bool:
    """Whether one of these secrets proves the request, whatever its time."""
    found = provider.verify(request, secrets, now_ms=0, tolerance_s=ANY_AGE_S)
    return isinstance(found, Verified)


def _readings(text: bytes, rule: VerifyRule) -> Iterator[tuple[bytes, str | None]]:
    prefix = rule.prefix.encode("ascii")
    entries = text.split(rule.separator.encode("ascii")) if rule.separator else [text]
    for entry in entries[:32]:
        raw = DECODERS[rule.encoding](entry[len(prefix) :]) if entry.startswith(prefix) else None
        if raw is not None:
            yield raw, None
    for entry in entries[:32]:
        yield from _odd(entry, prefix, rule.encoding)


def _odd(entry: bytes, prefix: bytes, due: str) -> Iterator[tuple[bytes, str]]:
    """Everything else that the entry may be, in words that complete "the signature came …"."""
    plain = entry.strip(_AROUND)
    touched = [(plain, "" if plain == entry else "with quotes or spaces around it")]
    if b"%" in plain:
        touched.append((unquote_to_bytes(plain), "with percent escapes"))
    for text, said in touched:
        for value, led in _without_lead(text, prefix):
            for raw, spelled in _decoded(value, due):
                if words := [w for w in (said, led, spelled) if w]:
                    yield raw, " and ".join(words)


def _without_lead(text: bytes, prefix: bytes) -> Iterator[tuple[bytes, str]]:
    shown = prefix.decode("ascii")
    if prefix and text.startswith(prefix):
        yield text[len(prefix) :], ""
    else:
        yield text, f"without its `{shown}`" if prefix else ""
    if (lead := _LEAD.match(text)) and lead[0] != prefix:
        yield text[lead.end() :], f"after `{lead[0].decode('ascii')}`"


def _decoded(value: bytes, due: str) -> Iterator[tuple[bytes, str]]:
    for encoding, decode in DECODERS.items():
        said = "" if encoding == due else f"in {encoding} where {due} is due"
        if (raw := decode(value)) is not None:
            yield raw, said
        elif encoding == "hex" and decode(value.lower()) is not None:
            yield decode(value.lower()) or b"", f"{said} and in capitals".removeprefix(" and ")
        elif encoding == "base64":
            for mended, how in (
                (value + b"=" * (-len(value) % 4), "without its padding `=`"),
                (value.replace(b" ", b"+"), "with spaces for `+`"),
            ):
                if (raw := decode(mended)) is not None:
                    yield raw, f"{said} and {how}".removeprefix(" and ")
