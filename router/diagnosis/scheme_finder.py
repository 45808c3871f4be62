"""
Which scheme fits: a captured request and its secret, tried in every way a definition can say.

For people who write a definition; never on the way of a delivery. No I/O, bounded work.
"""

import binascii
import itertools
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from router.diagnosis.probe import ANY_AGE_S
from router.errors import ConfigError
from router.model.delivery import InboundRequest, LiveSecret, Verified
from router.providers import bearer, hints, keys, queries
from router.providers.provider import Provider
from router.providers.signatures import DECODERS, hmac_digest
from router.providers.validation import parse_definition

HEADERS_MAX = 40
TRIES_MAX = 4_000
_BORING = (
    frozenset({"host", "connection", "via", "forwarded", "traceparent", "user-agent"})
    | {"content-type", "content-length", "accept", "accept-encoding"}
    | {"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip"}
)
_SEPARATORS = (" ", ",", ";")
_LEAD = re.compile(r"[A-Za-z0-9_.-]{1,20}[=,:]")
_SECONDS = re.compile(r"[0-9]{9,12}")
_STAMP_PART = re.compile(r"([A-Za-z_]{1,10}=)([0-9]{9,12})")
_NUMBER = re.compile(r"(^|-)(id|uuid|delivery|key)$")
_ORDERS = (("{id}", "{timestamp}"), ("{timestamp}", "{id}"))
_BETWEEN = ("", ".", ":", "|", "-", "\n")


class FittingScheme(msgspec.Struct, frozen=True):
    """
    A way that verifies the request: `verify` and `id` of a definition. `note`: what had to be
    done to the captured body first.
    """

    verify: dict[str, Any]
    id: dict[str, Any] | None = None
    note: str | None = None


class SignatureCandidate(msgspec.Struct, frozen=True):
    """A text that may be a signature: where it stands, how it is written, its bytes."""

    place: dict[str, Any]
    encoding: str
    raw: bytes


class Message(msgspec.Struct, frozen=True):
    """A text that may be what is signed, and the keys that say so."""

    keys: dict[str, Any]
    text: bytes
    id: str | None = None
    now_s: int = 0


Headers = list[tuple[str, str]]


def fits(request: InboundRequest, secret: bytes) -> list[FittingScheme]:
    """Every way found in which the secret proves the request; the plainest first."""
    headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in request.headers]
    telling = [(n, v) for n, v in headers if n not in _BORING][:HEADERS_MAX]
    found = [
        FittingScheme(rule)
        for rule in _shown(request, telling, secret)
        if _proves(request, secret, rule)
    ]
    bodies: list[tuple[str | None, bytes]] = [(None, request.body)]
    if len(request.body) <= hints.BODY_MAX:
        bodies += hints.alterations(request.body)
    for note, body in bodies:
        found = found or list(
            _signed(msgspec.structs.replace(request, body=body), telling, secret, note)
        )
    return found


# -- the secret itself ----------------------------------------------------------------------------


def _shown(request: InboundRequest, headers: Headers, secret: bytes) -> Iterator[dict[str, Any]]:
    text = secret.decode("utf-8", "replace")
    for name, value in headers:
        if value.endswith(text) and len(value) - len(text) <= 20:
            prefix = value[: len(value) - len(text)]
            usual = (name, prefix.lower()) == ("authorization", "bearer ")
            place = (
                {} if usual else {"header": titled(name)} | ({"prefix": prefix} if prefix else {})
            )
            yield {"scheme": "token"} | place
    for parameter, shown in queries.parameters(request.query_string):
        if shown == secret:
            yield {"scheme": "token", "query": parameter.decode("latin-1")}
    for name, value in headers:
        if name == "authorization" and value.lower().startswith("basic "):
            yield from _basic(value)
        if (
            name == "authorization"
            and value.lower().startswith("bearer ")
            and value.count(".") == 2
        ):
            yield from _bearer(value)


def _basic(value: str) -> Iterator[dict[str, Any]]:
    yield {"scheme": "basic"}
    try:
        pair = binascii.a2b_base64(value[6:].strip())
    except binascii.Error:
        return
    yield {"scheme": "basic", "user": pair.partition(b":")[0].decode("utf-8", "replace")}


def _bearer(value: str) -> Iterator[dict[str, Any]]:
    if (claims := bearer.claims_of(value[7:].strip().encode("latin-1"))) is None:
        return
    audience = claims.aud if isinstance(claims.aud, str) else next(iter(claims.aud or ()), None)
    named = {"audience": audience, "issuer": claims.iss}
    yield {"scheme": "jwt"} | {key: text for key, text in named.items() if text}


# -- signatures -----------------------------------------------------------------------------------


def _signed(
    request: InboundRequest, headers: Headers, secret: bytes, note: str | None
) -> Iterator[FittingScheme]:
    proofs = list(_proofs(headers))
    messages = list(_messages(request.body, headers))[:TRIES_MAX]
    pairs = _by_public_key(proofs) if _is_public(secret) else _by_digest(proofs, messages, secret)
    for proof, way, message in pairs:
        for one in messages if message is None else [message]:
            rule = _rule(proof, way, one)
            number = {"header": titled(one.id)} if one.id else None
            if _proves(request, secret, rule, number, one.now_s):
                yield FittingScheme(rule, number, note)
                break


def _by_digest(
    proofs: list[SignatureCandidate], messages: list[Message], secret: bytes
) -> Iterator[tuple[SignatureCandidate, dict[str, Any], Message | None]]:
    """Proofs that are an HMAC of a message: every HMAC is made once and looked up."""
    made: dict[bytes, tuple[dict[str, Any], Message]] = {}
    for form in ("text", "base64", "hex"):
        for algorithm in ("sha256", "sha512"):
            way = {"scheme": "hmac"} | _unusual("algorithm", algorithm, "sha256")
            way |= _unusual("key", form, "text")
            for message in messages:
                raw = hmac_digest(algorithm, form, secret, (message.text,))
                if raw is not None:
                    made.setdefault(raw, (way, message))
    for proof in proofs:
        if proof.raw in made:
            yield (proof, *made[proof.raw])


def _by_public_key(
    proofs: list[SignatureCandidate],
) -> Iterator[tuple[SignatureCandidate, dict[str, Any], Message | None]]:
    for proof in proofs:
        if proof.raw[:1] == b"0" and proof.encoding == "base64":
            yield proof, {"scheme": "ecdsa"}, None
        if len(proof.raw) == 64:
            yield proof, {"scheme": "ed25519"}, None


def _is_public(secret: bytes) -> bool:
    """Half of a key pair by its mark, or a key that can be nothing else."""
    if keys.is_public(secret):
        return True
    try:
        return len(keys.mend(secret).der) > 64 and secret.lstrip().startswith(b"M")
    except keys.UnusableKeyError:
        return False


def _rule(proof: SignatureCandidate, way: dict[str, Any], message: Message) -> dict[str, Any]:
    rule = way | proof.place | _unusual("encoding", proof.encoding, "hex") | message.keys
    return {} if "timestamp_part" in rule and rule.get("header") is None else rule


def _unusual(key: str, value: str, usual: str) -> dict[str, Any]:
    return {} if value == usual else {key: value}


def _proofs(headers: Headers) -> Iterator[SignatureCandidate]:
    for name, value in headers:
        place = {"header": titled(name)}
        yield from _decoded(place, value)
        if lead := _LEAD.match(value):
            yield from _decoded(place | {"prefix": lead[0]}, value[lead.end() :])
        for separator in _SEPARATORS:
            for entry in value.split(separator) if separator in value else ():
                if lead := _LEAD.match(entry):
                    listed = {"separator": separator, "prefix": lead[0]}
                    yield from _decoded(place | listed, entry[lead.end() :])


def _decoded(place: dict[str, Any], text: str) -> Iterator[SignatureCandidate]:
    for encoding, decode in DECODERS.items():
        raw = decode(text.encode("latin-1")) if len(text) <= 1024 else None
        if raw is not None and len(raw) >= 32:
            yield SignatureCandidate(place, encoding, raw)


def _messages(body: bytes, headers: Headers) -> Iterator[Message]:
    """What may be signed, the plainest first."""
    yield Message({}, body)
    for stamp in _stamps(headers):
        yield from _stamped(body, headers, stamp)
    for name, value in headers:
        header = f"{{header:{titled(name)}}}"
        parts = {header: value.encode("latin-1"), "{body}": body}
        for between in _BETWEEN:
            for words in ((header, between, "{body}"), ("{body}", between, header)):
                yield _message(words, parts)


def _stamped(body: bytes, headers: Headers, at: tuple[str, str, str]) -> Iterator[Message]:
    key, place, stamp = at
    parts = {"{timestamp}": stamp.encode(), "{body}": body}
    said = {key: place, "tolerance": "300s"}
    for between in _BETWEEN:
        for words in (("{timestamp}", between, "{body}"), ("{body}", between, "{timestamp}")):
            yield _message(words, parts, said, now_s=int(stamp))
    yield _message(("v0:", "{timestamp}", ":", "{body}"), parts, said, now_s=int(stamp))
    for name, value in headers:
        if _NUMBER.search(name):
            parts["{id}"] = value.encode("latin-1")
            for between, (one, two) in itertools.product(_BETWEEN, _ORDERS):
                numbered = (one, between, two, between, "{body}")
                yield _message(numbered, parts, said, name, int(stamp))


def _message(
    words: tuple[str, ...],
    parts: dict[str, bytes],
    said: dict[str, Any] | None = None,
    id_: str | None = None,
    now_s: int = 0,
) -> Message:
    text = b"".join([parts.get(word, word.encode()) for word in words])
    return Message({**(said or {}), "message": "".join(words)}, text, id_, now_s)


def _stamps(headers: Headers) -> Iterator[tuple[str, str, str]]:
    """Timestamps: the key that names their place, the place, the digits."""
    for name, value in headers:
        if _SECONDS.fullmatch(value):
            yield "timestamp", titled(name), value
        for separator in (",", ";"):
            for entry in value.split(separator) if separator in value else ():
                if part := _STAMP_PART.fullmatch(entry):
                    yield "timestamp_part", part[1], part[2]


def _proves(
    request: InboundRequest,
    secret: bytes,
    rule: dict[str, Any],
    number: dict[str, Any] | None = None,
    now_s: int = 0,
) -> bool:
    """Does the engine agree, with a definition made of this?"""
    data: dict[str, Any] = {"names": ["found"], "label": "found", "verify": rule}
    try:
        provider = Provider(parse_definition(data | ({"id": number} if number else {})))
    except ConfigError:
        return False
    # A token that has expired since was genuine all the same.
    found = provider.verify(
        request,
        [LiveSecret("given", secret)],
        now_ms=now_s * 1000,
        tolerance_s=ANY_AGE_S if rule["scheme"] == "jwt" else None,
    )
    return isinstance(found, Verified)


def titled(name: str) -> str:
    """A header's name as people write it."""
    return "-".join(word.capitalize() for word in name.split("-"))
