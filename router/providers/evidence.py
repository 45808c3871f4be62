"""
What a proof reads of one request beside its headers: query, address, and fields of its body.

The body is not proved yet: it is read once, up to a size, and nothing is believed.
"""

import hashlib
import zlib
from collections.abc import Callable
from copy import copy
from functools import cached_property

import msgspec

from router.expressions import encode_json
from router.model.delivery import JSON, REMOVED, InboundRequest, Refused, Verified
from router.model.odd_body import OddBodyError
from router.model.packed import UNPACKED_MAX, opened
from router.providers import forms
from router.providers.definition import ProofPlace, VerifyRule
from router.providers.headers import Spellings
from router.providers.queries import parameters, without
from router.providers.read import dug
from router.providers.scheme import Found, Scheme
from router.structure import too_complex

JSON_MAX = 64 * 1024
FORM_MAX = 4 * 1024**2
"""A form has few fields and is decoded at memory speed, and some senders sign batches in one."""


class UnreadableProofError(Exception):
    """What is needed for the proof cannot be read: `reason` as a word, the message in words."""

    def __init__(self, message: str, reason: str = "unreadable_body") -> None:
        super().__init__(message)
        self.reason = reason


class Evidence:
    """
    One request, as a way of proof reads it. `found` are its headers by part; `key` is the public
    key that has signed it, where the secret is none; `proved`: the body is genuine, and of any
    size; `item`: `payload` is an item of the body's.
    """

    def __init__(self, found: Found, request: InboundRequest, key: bytes = b"") -> None:
        self.found = found
        self.request = request
        self.key = key
        self.proved = False
        self.item = False

    @cached_property
    def is_form(self) -> bool:
        """Does the request say that its body is a form?"""
        kind = next((v for n, v in self.request.headers if n == b"content-type"), b"")
        return forms.is_form(kind)

    @cached_property
    def payload(self) -> JSON:
        """
        The body's JSON; decimals are texts, as they stand.

        Raises:
            UnreadableProofError: it is none, or too large.
        """
        body = self._body(JSON_MAX, "64 KiB")
        if (reason := too_complex(body)) is not None:
            raise UnreadableProofError(f"the body is {reason}")
        try:
            return _decode(body)
        except (ValueError, RecursionError):
            raise UnreadableProofError(
                "the body, which holds what is signed, is not JSON"
            ) from None

    @cached_property
    def form(self) -> list[tuple[bytes, bytes]]:
        """
        The names and values of the form in the body.

        Raises:
            UnreadableProofError: it is none, or too large.
        """
        try:
            return forms.pairs_of(self._body(FORM_MAX, "4 MiB"))
        except ValueError as fault:
            raise UnreadableProofError(str(fault)) from None

    @cached_property
    def parameters(self) -> list[tuple[bytes, bytes]]:
        """The names and values of the query."""
        return parameters(self.request.query_string)

    @cached_property
    def path(self) -> bytes:
        """The path that the sender was told."""
        told = self.request.public_url
        path = told.partition("://")[2].partition("/")[2]
        return b"/" + path.encode("latin-1") if path else self.request.raw_path

    @cached_property
    def url(self) -> bytes | None:
        """
        The address that the sender was told, with the query of this request.

        `public_url` is that address, or its beginning up to the path.
        """
        told, query = self.request.public_url, self.request.query_string
        if not told:
            return None
        origin = "/".join(told.split("/", 3)[:3]).encode("latin-1")
        return origin + self.path + (b"?" + query if query else b"")

    @cached_property
    def body_sha256(self) -> bytes:
        """In hexadecimal."""
        return hashlib.sha256(self.request.body).hexdigest().encode("ascii")

    @cached_property
    def body_crc32(self) -> bytes:
        """In decimal, without a sign."""
        return b"%d" % zlib.crc32(self.request.body)

    @cached_property
    def form_sorted(self) -> bytes | None:
        """Every name and value of the form, sorted; nothing of another body."""
        if not self.request.body:
            return b""
        if not self.is_form:
            return None
        # The same pair twice is signed once, as the senders' own libraries do.
        return b"".join(name + value for name, value in sorted(set(self.form)))

    def items(self, path: str | None) -> list["Evidence"]:
        """
        The evidence of each item of the list at a path, with the item in place of the body's JSON;
        without a path this one alone.

        Raises:
            UnreadableProofError: there is no such list, or nothing in it.
        """
        if path is None:
            return [self]
        found = dug(self.payload, path)
        if not isinstance(found, list) or not found:
            raise UnreadableProofError(f"there is no list at {path}, or nothing in it")
        return [self._of_item(item) for item in found]

    def of(self, request: InboundRequest) -> "Evidence":
        """
        The evidence of a request that came otherwise, for diagnosis: what is read of the same body
        is kept, and so is the item that is proved.
        """
        other = copy(self)
        other.request = request
        same_body = request.body == self.request.body
        for read in _OF_ADDRESS if same_body else (*_OF_ADDRESS, *_OF_BODY):
            other.__dict__.pop(read, None)
        if self.item:
            other.payload = self.payload
        return other

    def _of_item(self, item: JSON) -> "Evidence":
        narrowed = copy(self)
        narrowed.payload, narrowed.item = item, True
        return narrowed

    def _body(self, most: int, shown: str) -> bytes:
        if len(self.request.body) > most and not self.proved:
            raise UnreadableProofError(f"what is signed stands in the body, which is over {shown}")
        try:
            return opened(self.request, UNPACKED_MAX if self.proved else most).body
        except OddBodyError as odd:
            raise UnreadableProofError(f"what is signed stands in the body: {odd}") from None


def judged_each(
    scheme: Scheme, evidence: Evidence, judged: Callable[[Evidence], Verified | Refused]
) -> Verified | Refused:
    """The last of the verdicts on each item that is to be proved, or the first refusal."""
    try:
        for one in evidence.items(scheme.rule.each):
            verdict = judged(one)
            if isinstance(verdict, Refused):
                break
    except UnreadableProofError as fault:
        return scheme.refused(fault.reason, str(fault))
    return verdict


_OF_ADDRESS = ("url", "path", "parameters")
_OF_BODY = ("payload", "form", "form_sorted", "body_sha256", "body_crc32")

_decode = msgspec.json.Decoder(float_hook=str).decode

Reader = Callable[[Evidence], bytes | None]
"""A value of the evidence; None for nothing."""


def json_text(value: JSON) -> bytes | None:
    """A text, number or true/false as it stands; None for everything else."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode("utf-8") if isinstance(value, str | int) else None


def of_header(part: bytes) -> Reader:
    """Reads a header that plays a part."""
    return lambda evidence: evidence.found.get(part)


def of_json(path: str) -> Reader:
    """Reads the value at a dotted path of the body, or of the item that is proved."""
    return lambda evidence: json_text(dug(evidence.payload, path))


def of_field(path: str) -> Reader:
    """Reads a field of a form, else the value at a dotted path."""
    name, in_json = path.encode("utf-8"), of_json(path)
    return lambda evidence: _only(evidence.form, name) if evidence.is_form else in_json(evidence)


def of_query(name: str) -> Reader:
    """Reads a query parameter."""
    wanted = name.encode("utf-8")
    return lambda evidence: _only(evidence.parameters, wanted)


def of_place(place: ProofPlace, known: Spellings) -> Reader | None:
    """Reads what stands at a place; None for no place at all."""
    if place.query is not None:
        return of_query(place.query)
    if place.field is not None:
        return of_field(place.field)
    part = known.part(place.header)
    return None if part is None else of_header(part)


def _only(pairs: list[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    values = {value for key, value in pairs if key == name}
    if len(values) > 1:
        text = name.decode("utf-8", "replace")
        raise UnreadableProofError(f"{text} came twice and differs", "ambiguous_header")
    return values.pop() if values else None


_REMOVED = REMOVED.encode("ascii")


def without_token(request: InboundRequest, rule: VerifyRule) -> InboundRequest:
    """
    The request with `[removed]` for the token in its body, which is then not packed. A body that
    cannot be read for its token, and so was not verified, is removed whole.
    """
    came, path = request, rule.field or ""
    try:
        request = opened(request, FORM_MAX)
        evidence = Evidence({}, request)
        if evidence.is_form:
            return _with_body(request, without(request.body, path.encode("utf-8")))
        shown = {token for one in evidence.items(rule.each) if (token := of_field(path)(one))}
    except (UnreadableProofError, OddBodyError):
        return _with_body(request, _REMOVED)
    if not shown:
        return came
    body = request.body
    for token in shown:  # as text, so that everything else stays as it came
        body = body.replace(encode_json(token.decode("utf-8")), encode_json(REMOVED))
    clean = _with_body(request, body)
    return clean if not _holds(clean, shown) else _with_body(request, _REMOVED)


def _with_body(request: InboundRequest, body: bytes) -> InboundRequest:
    return msgspec.structs.replace(request, body=body)


def _holds(request: InboundRequest, tokens: set[bytes]) -> bool:
    """Does any text of the body still say one of them, spelled in some other way?"""
    pending: list[JSON] = [Evidence({}, request).payload]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str | int) and str(value).encode("utf-8") in tokens:
            return True
    return False
