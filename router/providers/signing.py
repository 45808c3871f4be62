"""
How a sender proves a request: everything that `verify` wants, put where `verify` looks for it.
"""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from router.expressions import decode_json, encode_json
from router.model.delivery import JSON, InboundRequest
from router.providers import bearer, forms, keys
from router.providers.certified import address_of, parted
from router.providers.definition import (
    SIGNATURES,
    Definition,
    Names,
    ProofPlace,
    VerifyRule,
    spelled,
)
from router.providers.evidence import Evidence, UnreadableProofError
from router.providers.headers import wire
from router.providers.messages import STAMP, MessageTemplate
from router.providers.read import stepped
from router.providers.scheme import spellings
from router.providers.signatures import encode, sign
from router.providers.times import WRITERS

Headers = tuple[tuple[str, str], ...]


class SignedRequest(NamedTuple):
    """What a sender sends: header names in their first spelling, the proof last."""

    headers: Headers
    query: str
    body: bytes


def header(names: Names, value: str) -> Headers:
    """The header in its first spelling; none without a name."""
    return tuple((name, value) for name in spelled(names)[:1])


class Signing:
    """One way of proof with one key, from the sender's side."""

    def __init__(self, definition: Definition, rule: VerifyRule, key: bytes) -> None:
        self._rule = rule
        self._secret, self._key = parted(key) if rule.certificate else (key, key)
        self._known = spellings(definition)
        self._template = MessageTemplate(definition, rule, self._known)
        self._proof = ProofPlace(rule.place, rule.query, rule.field)

    def signed(self, request: InboundRequest, headers: Headers) -> SignedRequest:
        """
        The request with these headers, and proved.

        Raises:
            ValueError: the key cannot sign, or the request lacks what is signed.
        """
        made = SignedRequest(headers, "", request.body)
        rule = self._rule
        if rule.scheme in SIGNATURES:
            return self._with_signature(request, made)
        if rule.scheme == "none":
            return made
        shown = rule.lead + _credential(rule, self._key, made.body, request.received_at)
        return _put(made, self._proof, [shown] * self._count(made.body), rule.each)

    def _with_signature(self, request: InboundRequest, made: SignedRequest) -> SignedRequest:
        rule, stamp = self._rule, WRITERS[self._rule.time](request.received_at)
        made = _put(made, rule.stamp, [stamp])
        if rule.equals is not None:
            made = _put(made, ProofPlace(field=rule.equals), [self._secret.decode("latin-1")])
        if rule.certificate is not None:
            made = _put(made, rule.certificate.place, [address_of(rule.certificate)])
        if rule.body_hash is not None:
            stated = Evidence({}, msgspec.structs.replace(request, body=made.body)).body_sha256
            made = _put(made, rule.body_hash.place, [stated.decode("ascii")])
        try:
            texts = [self._signature(one, stamp) for one in self._evidence(request, made)]
        except UnreadableProofError as fault:
            raise ValueError(str(fault)) from None
        return _put(made, self._proof, texts, rule.each)

    def _evidence(self, request: InboundRequest, made: SignedRequest) -> list[Evidence]:
        """What each signature is over."""
        wired = tuple((wire(name), value.encode("latin-1")) for name, value in made.headers)
        whole = msgspec.structs.replace(
            request, headers=wired, query_string=made.query.encode("ascii"), body=made.body
        )
        evidence = Evidence(self._known.first(wired), whole)
        evidence.proved = True  # by us: of any size
        return evidence.items(self._rule.each)

    def _signature(self, evidence: Evidence, stamp: str) -> str:
        rule = self._rule
        if rule.timestamp_part:
            evidence.found[STAMP] = stamp.encode("ascii")
        if (message := self._template.filled(evidence, self._secret)) is None:
            raise ValueError("what is signed holds something that this request does not")
        raw = sign(rule, self._key, message)
        signed = rule.prefix + encode(raw, rule.encoding).decode("ascii")
        parted = rule.timestamp_part + stamp + rule.separator if rule.timestamp_part else ""
        return parted + signed

    def _count(self, body: bytes) -> int:
        """How many items of the body are proved each."""
        if self._rule.each is None:
            return 1
        return len(_at(decode_json(body), self._rule.each) or ())


def _credential(rule: VerifyRule, key: bytes, body: bytes, now_ms: int) -> str:
    if rule.scheme == "jwt":
        return bearer.token(rule, key, now_ms, body)
    keys.shared(key, "text")
    if rule.scheme in ("token", "introspection"):
        return key.decode("latin-1")
    pair = key if rule.user is None else rule.user.encode("utf-8") + b":" + key
    return encode(pair, "base64").decode("ascii")


# -- places ---------------------------------------------------------------------------------------


def _put(
    made: SignedRequest, place: ProofPlace, texts: Sequence[str], each: str | None = None
) -> SignedRequest:
    """The request with a text at a place; with one for each item of the body's list `each`."""
    if place.query is not None:
        added = urlencode({place.query: texts[0]}, quote_via=quote)
        return made._replace(query="&".join(filter(None, (made.query, added))))
    if place.field is not None:
        return made._replace(body=_with_field(made, place.field, texts, each))
    return made._replace(headers=made.headers + header(place.header, texts[0]))


def _with_field(made: SignedRequest, path: str, texts: Sequence[str], each: str | None) -> bytes:
    kinds = [value.encode("latin-1") for name, value in made.headers if name == "Content-Type"]
    if any(map(forms.is_form, kinds)):
        fields = {**forms.fields_of(made.body), path: texts[0]}
        return urlencode(fields, doseq=True).encode("ascii")
    payload = decode_json(made.body)
    items = [payload] if each is None else _at(payload, each) or []
    for item, text in zip(items, texts, strict=True):
        *way, last = path.split(".")
        holder = _at(item, ".".join(way))
        if not isinstance(holder, dict):
            raise ValueError(f"the body has no object that {path} could stand in")
        holder[last] = text
    return encode_json(payload)


def _at(payload: JSON, path: str) -> JSON:
    """What is at a dotted path; an object, made there, where nothing is yet."""
    for step in path.split(".") if path else ():
        inner = stepped(payload, step)
        if inner is None and isinstance(payload, dict):
            inner = payload[step] = {}
        payload = inner
    if not isinstance(payload, dict | list):
        raise ValueError(f"the body has no object at {path}")
    return payload
