"""
Which scheme fits: a captured request and its secret, tried in every way a definition can say.

For people who write a definition; never on the way of a delivery. No I/O, bounded work.
"""

import binascii
import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from router.diagnosis.message_candidates import Message, messages
from router.diagnosis.probe import ANY_AGE_S
from router.diagnosis.proof_candidates import (
    SIZES,
    SignatureCandidate,
    Text,
    payload_of,
    signatures,
    texts,
)
from router.errors import ConfigError
from router.model.delivery import JSON, InboundRequest, LiveSecret, Verified
from router.providers import ed25519, hints, keys
from router.providers.provider import Provider
from router.providers.signatures import decode_base64url, hmac_digest
from router.providers.validation import parse_definition

PUBLIC_KEY_TRIES_MAX = 120
ALTERED_TRIES_MAX = 60
_RSA_SIZES = (256, 384, 512)
Rule = dict[str, Any]


class FittingScheme(msgspec.Struct, frozen=True):
    """
    A way that verifies the request: `verify` and `id` of a definition. `note`: what had to be
    done to the captured body first. `public_url`: the address that was signed, "" for none.
    """

    verify: Rule
    id: Rule | None = None
    note: str | None = None
    public_url: str = ""


def fits(request: InboundRequest, secret: bytes) -> list[FittingScheme]:
    """Every way found in which the secret proves the request; the plainest first."""
    found = [
        FittingScheme(rule) for rule in _shown(request, secret) if _proves(request, secret, rule)
    ]
    bodies: list[tuple[str | None, bytes]] = [(None, request.body)]
    if len(request.body) <= hints.BODY_MAX:
        bodies += hints.alterations(request.body)
    for note, body in bodies:
        found = found or list(_signed(msgspec.structs.replace(request, body=body), secret, note))
    return found


# -- the secret itself ----------------------------------------------------------------------------


def _shown(request: InboundRequest, secret: bytes) -> Iterator[Rule]:
    word = secret.decode("utf-8", "replace")
    for text in texts(request):
        usual = text.name == "authorization"
        if text.value.endswith(word) and len(text.value) - len(word) <= 20:
            prefix = text.value[: len(text.value) - len(word)]
            bearer = usual and prefix.lower() == "bearer "
            keys = {} if bearer else text.place | ({"prefix": prefix} if prefix else {})
            yield {"scheme": "token"} | keys
        if usual and text.value.lower().startswith("basic "):
            yield from _basic(text.value)
        if text.value.count(".") == 2:
            yield from jwt_rules(request, text)
    yield from _of_items(payload_of(request), word)


def _of_items(payload: JSON, word: str) -> Iterator[Rule]:
    """A token that stands in each item of a list."""
    for path, value in payload.items() if isinstance(payload, dict) else ():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield from (
                {"scheme": "token", "each": path, "field": key}
                for key, held in value[0].items()
                if held == word
            )


def _basic(value: str) -> Iterator[Rule]:
    yield {"scheme": "basic"}
    try:
        pair = binascii.a2b_base64(value[6:].strip())
    except binascii.Error:
        return
    yield {"scheme": "basic", "user": pair.partition(b":")[0].decode("utf-8", "replace")}


def jwt_rules(request: InboundRequest, text: Text) -> Iterator[Rule]:
    """How a token in this text would prove the request."""
    lead, token = ("", text.value) if " " not in text.value else text.value.split(" ", 1)
    head, claims = (_decoded_part(piece) for piece in token.split(".")[:2])
    if not isinstance(head, dict) or not isinstance(claims, dict):
        return
    rule: Rule = {"scheme": "jwt"}
    if text.name != "authorization":
        rule |= text.place | ({"prefix": f"{lead} "} if lead else {})
    if head.get("alg") == "HS256":
        rule["algorithms"] = ["HS256"]
    aud, iss = claims.get("aud"), claims.get("iss")
    named = {"audience": aud[0] if isinstance(aud, list) and aud else aud, "issuer": iss}
    rule |= {key: value for key, value in named.items() if isinstance(value, str)}
    made = hashlib.sha256(request.body).hexdigest()
    hashed = next((name for name, value in claims.items() if value == made), None)
    yield rule | ({} if hashed is None else {"body_hash": {"claim": hashed}})


def _decoded_part(piece: str) -> JSON:
    try:
        return msgspec.json.decode(decode_base64url(piece.encode("latin-1")) or b"")
    except (ValueError, RecursionError):
        return None


# -- signatures -----------------------------------------------------------------------------------


def _signed(request: InboundRequest, secret: bytes, note: str | None) -> Iterator[FittingScheme]:
    found = texts(request)
    proofs = list(signatures(found))
    signed = messages(request, found)[: None if note is None else ALTERED_TRIES_MAX]
    by_key = _by_public_key(proofs, signed) if _may_be_public(secret) else ()
    for rule, message in (*_by_digest(proofs, signed, secret), *by_key):
        number = {"header": message.id} if message.id else None
        if _proves(request, secret, rule, message):
            yield FittingScheme(rule, number, note, message.public_url)
            return


def _by_digest(
    proofs: list[SignatureCandidate], signed: list[Message], secret: bytes
) -> Iterator[tuple[Rule, Message]]:
    """Proofs that are an HMAC of a message: every HMAC is made once and looked up."""
    made: dict[bytes, tuple[Rule, Message]] = {}
    algorithms = {SIZES[len(proof.raw)] for proof in proofs if len(proof.raw) in SIZES}
    for form in ("text", "base64", "hex"):
        for algorithm in sorted(algorithms):
            way = {"scheme": "hmac"} | _unusual("algorithm", algorithm, "sha256")
            way |= _unusual("key", form, "text")
            for message in signed:
                raw = hmac_digest(algorithm, form, secret, (message.text,))
                if raw is None:
                    break
                made.setdefault(raw, (way, message))
    for proof in proofs:
        if proof.raw in made:
            way, message = made[proof.raw]
            yield _rule(proof, way, message), message


def _may_be_public(secret: bytes) -> bool:
    """Is it a key of a pair, in any of the ways that people paste one?"""
    text = secret.strip()
    if keys.kind_of_pair(text) is not None or text.startswith(b"{"):
        return True
    try:
        return len(keys.mend(text).der) >= ed25519.KEY_BYTES
    except keys.UnusableKeyError:
        return False


def _by_public_key(
    proofs: list[SignatureCandidate], signed: list[Message]
) -> Iterator[tuple[Rule, Message]]:
    for proof in proofs:
        for way in key_pairs(proof):
            for message in signed[:PUBLIC_KEY_TRIES_MAX]:
                yield _rule(proof, way, message), message


def key_pairs(proof: SignatureCandidate) -> Iterator[Rule]:
    """The ways of signing by a key pair that give so many bytes."""
    size = len(proof.raw)
    if proof.raw[:1] == b"0" and proof.encoding == "base64" and 68 <= size <= 72:
        yield {"scheme": "ecdsa"}
    if size == 64:
        yield {"scheme": "ed25519"}
    if size in _RSA_SIZES:
        for algorithm in ("sha256", "sha1", "sha512"):
            way = {"scheme": "rsa"} | _unusual("algorithm", algorithm, "sha256")
            yield way
            yield way | {"padding": "pss"}


def _rule(proof: SignatureCandidate, way: Rule, message: Message) -> Rule:
    return way | proof.place | _unusual("encoding", proof.encoding, "hex") | message.keys


def _unusual(key: str, value: str, usual: str) -> Rule:
    return {} if value == usual else {key: value}


_NOTHING = Message({}, b"")


def _proves(
    request: InboundRequest, secret: bytes, rule: Rule, message: Message = _NOTHING
) -> bool:
    """Does the engine agree, with a definition made of this?"""
    data: Rule = {"names": ["found"], "label": "found", "verify": rule}
    if message.id:
        data["id"] = {"header": message.id}
    try:
        provider = Provider(parse_definition(data))
    except ConfigError:
        return False
    # A token that has expired since was genuine all the same.
    found = provider.verify(
        msgspec.structs.replace(request, public_url=message.public_url),
        [LiveSecret("given", secret)],
        now_ms=message.now_ms,
        tolerance_s=ANY_AGE_S if rule["scheme"] == "jwt" else None,
    )
    return isinstance(found, Verified)
