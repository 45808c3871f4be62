"""
Handshakes: questions that a sender asks before it sends, answered and routed nowhere.

What is echoed is a short text of harmless characters; everything else is no question.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from router.expressions import encode_json
from router.model.delivery import JSON, InboundRequest, LiveSecret, Refused, Verified
from router.model.odd_body import OddBodyError
from router.model.packed import opened
from router.providers import forms
from router.providers.allowed_hosts import is_allowed
from router.providers.credentials import equal_one
from router.providers.definition import Definition, VerifyRule
from router.providers.headers import wire
from router.providers.queries import parameters
from router.providers.read import decoded, dug
from router.providers.respond import (
    ANYTHING,
    HARMLESS,
    HARMLESS_MAX,
    PLACEHOLDER,
    Handshake,
    place_of,
    scalar_text,
)
from router.providers.signatures import encode, hmac_digest

BODY_MAX = 8 * 1024


class HandshakeAnswer(msgspec.Struct, frozen=True):
    """What to answer a handshake with. `visit` is the address to fetch afterwards, None for none"""

    body: bytes
    content_type: str
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()
    visit: str | None = None


class HandshakeResponder:
    """Answers the handshakes of one definition."""

    def __init__(self, definition: Definition) -> None:
        each = [_Question(one) for one in definition.respond]
        self._other = tuple(q for q in each if q.rule.method != "POST")
        self._open = tuple(q for q in each if q.rule.method == "POST" and q.rule.unsigned)
        self._signed = tuple(q for q in each if q.rule.method == "POST" and not q.rule.unsigned)
        self._deliveries = frozenset(definition.methods)
        self._signs_for_all = any(one.is_open and one.signs for one in definition.respond)
        self._status = definition.refuse_with
        self._keyed = next((rule for rule in definition.ways if rule.scheme == "hmac"), None)

    def unproved(
        self, request: InboundRequest, secrets: Sequence[LiveSecret]
    ) -> HandshakeAnswer | Refused | None:
        """
        What becomes of a request before anything of it is proved: an answer to a handshake that
        comes so, or a refusal; None: it is to prove itself.
        """
        by_delivery = request.method in self._deliveries
        if not by_delivery or self._open:
            asked = _Request(request)
            question = _first(self._open if by_delivery else self._other, asked)
            if question is not None:
                return self._judged(question, asked, secrets)
        if not by_delivery:
            words = f"a {request.method} that is not a handshake of this sender"
            return Refused("no_handshake", 400, words)
        if self._signs_for_all and secrets and _could_be_echoed(request.body):
            words = "a body that the answer to a handshake may have signed proves nothing"
            return Refused("bad_signature", self._status, words)
        return None

    def _judged(
        self, question: "_Question", asked: "_Request", secrets: Sequence[LiveSecret]
    ) -> HandshakeAnswer | Refused:
        token, usable = question.rule.token, tuple(s for s in secrets if s.value)
        if token is not None:
            shown = (asked.at(("query", token)) or "").encode("utf-8", "surrogateescape")
            if equal_one(shown, usable) is None:
                words = f"handshake: `{token}` equals no live secret of this endpoint"
                return Refused("bad_token", self._status, words)
        answer = question.answer(asked, self._keyed, usable)
        return answer or Refused("no_secret", self._status, "no live secret to answer with")

    def answer(
        self, request: InboundRequest, secrets: Sequence[LiveSecret], verdict: Verified
    ) -> HandshakeAnswer | None:
        """
        What to send back to a request that was judged so, or None: it is no handshake. Its HMAC is
        by the secret that proved the request, else by the first.
        """
        if not self._signed:
            return None
        asked, proved = _Request(request), verdict.secret is not None
        fitting = [q for q in self._signed if proved or q.rule.visit is None]
        question = _first(fitting, asked)
        first = tuple(sorted(secrets, key=lambda secret: secret.name != verdict.secret))
        return None if question is None else question.answer(asked, self._keyed, first)


class _Request:
    """A request as handshakes see it; its body is read only if one of them asks for it."""

    def __init__(self, request: InboundRequest) -> None:
        self.method, self.body = request.method, request.body
        with suppress(OddBodyError):  # then it is no question
            self.body = opened(request, BODY_MAX).body
        self._headers, self._query_string = request.headers, request.query_string
        self._query: Mapping[str, str] | None = None
        self._payload: JSON = _UNREAD

    def at(self, place: tuple[str, str]) -> str | None:
        """The text at a place; None for nothing, for no plain value and for one that came twice."""
        return _READ[place[0]](self, place[1])

    def field(self, path: str) -> str | None:
        """What is at a dotted path of the body's JSON or form; a number steps into a list."""
        if self._payload is _UNREAD:
            self._payload = self._read()
        return scalar_text(dug(self._payload, path))

    def _read(self) -> JSON:
        """The small body; None for one that is large or odd."""
        if len(self.body) > BODY_MAX:
            return None
        try:
            if forms.is_form((self.header("Content-Type") or "").encode("latin-1")):
                return forms.fields_of(self.body)
            return decoded(self.body)
        except (OddBodyError, forms.FormError, forms.FormTooLargeError):
            return None

    def query(self, name: str) -> str | None:
        """A query parameter that came once."""
        if self._query is None:
            self._query = _once(parameters(self._query_string), "utf-8")
        return self._query.get(name)

    def header(self, name: str) -> str | None:
        """A header that came once."""
        values = [value for known, value in self._headers if known == wire(name)]
        return values[0].decode("latin-1") if len(values) == 1 else None


_UNREAD = object()
_READ: dict[str, Callable[[_Request, str], str | None]] = {
    "field": _Request.field,
    "query": _Request.query,
    "header": _Request.header,
}


def _once(pairs: Sequence[tuple[bytes, bytes]], encoding: str) -> dict[str, str]:
    names = [name for name, _ in pairs]
    return {
        name.decode(encoding, "surrogateescape"): value.decode(encoding, "surrogateescape")
        for name, value in pairs
        if names.count(name) == 1
    }


class _Condition(NamedTuple):
    place: tuple[str, str]
    value: str


class _Question:
    """One handshake, ready to be recognised and answered."""

    def __init__(self, rule: Handshake) -> None:
        self.rule = rule
        each = [
            _Condition(place_of(name, rule.method), scalar_text(value) or "")
            for name, value in rule.when.items()
        ]
        # What is in the body comes last, and only if a word of it is there at all: most bodies
        # are decoded for nothing otherwise.
        self._when = sorted(each, key=lambda condition: condition.place[0] == "field")
        self._words = [
            condition.value.encode()
            for condition in each
            if condition.place[0] == "field" and condition.value != ANYTHING
        ]
        self._echo = None if rule.echo is None else place_of(rule.echo, rule.method)
        self._visit = None if rule.visit is None else place_of(rule.visit, rule.method)

    def fits(self, asked: _Request) -> bool:
        """Is the request this question, with something harmless to send back?"""
        return (
            asked.method == self.rule.method
            and (not self._words or self._is_worded(asked.body))
            and all(_fits(asked.at(place), value) for place, value in self._when)
            and (self._echo is None or self._echoed(asked) is not None)
            and (self._visit is None or self._address(asked) is not None)
        )

    def _is_worded(self, body: bytes) -> bool:
        return len(body) <= BODY_MAX and all(word in body for word in self._words)

    def _echoed(self, asked: _Request) -> str | None:
        text = None if self._echo is None else asked.at(self._echo)
        return text if text is not None and HARMLESS.fullmatch(text) else None

    def _address(self, asked: _Request) -> str | None:
        text = None if self._visit is None else asked.at(self._visit)
        return text if text is not None and is_allowed(text, self.rule.hosts) else None

    def answer(
        self, asked: _Request, keyed: VerifyRule | None, secrets: Sequence[LiveSecret]
    ) -> HandshakeAnswer | None:
        """The answer; None where a secret is due and the first is not there or cannot be a key."""
        known = {"echo": self._echoed(asked) or ""}
        if self.rule.signs:
            signed = _signed(keyed, secrets, known["echo"].encode("ascii"))
            if signed is None:
                return None
            known["hmac_hex"] = signed.hex()
            known["hmac_base64"] = encode(signed, "base64").decode("ascii")
        filled = _filled(self.rule.template, known)
        is_text = isinstance(filled, str)
        headers = _filled(self.rule.answer_headers, known)
        return HandshakeAnswer(
            filled.encode("utf-8") if is_text else encode_json(filled),
            "text/plain; charset=utf-8" if is_text else "application/json",
            self.rule.status,
            tuple((wire(name), value.encode("ascii")) for name, value in headers.items()),
            self._address(asked),
        )


def _first(questions: Sequence[_Question], asked: _Request) -> _Question | None:
    return next((question for question in questions if question.fits(asked)), None)


def _fits(found: str | None, value: str) -> bool:
    return found is not None and value in (ANYTHING, found)


def _filled(template: Any, known: Mapping[str, str]) -> Any:
    """The template with its placeholders filled, in every text of it."""
    if isinstance(template, str):
        return PLACEHOLDER.sub(lambda match: known[match[1]], template)
    if isinstance(template, dict):
        return {_filled(name, known): _filled(value, known) for name, value in template.items()}
    return [_filled(one, known) for one in template] if isinstance(template, list) else template


def _signed(rule: VerifyRule | None, secrets: Sequence[LiveSecret], text: bytes) -> bytes | None:
    if rule is None or not secrets:
        return None
    return hmac_digest(rule.algorithm, rule.key, secrets[0].value, [text])


def _could_be_echoed(body: bytes) -> bool:
    return len(body) <= HARMLESS_MAX and bool(HARMLESS.fullmatch(body.decode("latin-1")))
