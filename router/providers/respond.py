"""The keys of `respond`, and what must hold between them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from router.providers.allowed_hosts import HOST

HandshakeMethod = Literal["GET", "POST", "OPTIONS", "HEAD"]

HARMLESS_MAX = 256
HARMLESS = re.compile(r"[A-Za-z0-9._~+/=:-](?:[A-Za-z0-9._~+/=: -]{0,254}[A-Za-z0-9._~+/=:-])?")
"""What may be sent back: a short text that means nothing in any notation."""
PLACEHOLDER = re.compile(r"\{(echo|hmac_hex|hmac_base64)\}")
ANYTHING = "*"


class Handshake(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    A question that is answered at once with a text of its own, and routed nowhere.

    `when` holds what makes a request this question: places and their values, `*` for any. A place
    is `field:PATH` (dotted, in the body's JSON or form), `query:NAME` or `header:NAME`; without
    such a word it is a field on POST, else a query parameter. `echo` is the place of what is sent
    back.

    By POST the request is verified first, unless it comes `unsigned`; by another method it needs
    `token`, the query parameter that must be a live secret, or nothing.

    The answer has `status`, `answer_headers` and `answer`: a text, or a mapping that is sent as
    JSON. {echo}, {hmac_hex} and {hmac_base64} in them are what is sent back and its HMAC by the
    secret. `visit` is the place of an address that is fetched once, of one of `hosts` (exact, or
    an end that begins with a dot), when the request was proved.
    """

    echo: str | None = None
    method: HandshakeMethod = "POST"
    when: dict[str, str | int | bool] = {}
    token: str | None = None
    unsigned: bool = False
    answer: str | dict[str, Any] | None = None
    answer_headers: dict[str, str] = {}
    status: Literal[200, 201, 202, 204] = 200
    visit: str | None = None
    hosts: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Is it answered to anybody who asks?"""
        return self.unsigned or (self.method != "POST" and self.token is None)

    @property
    def template(self) -> Any:
        """The answer as written, or what it is by default."""
        if self.answer is not None:
            return self.answer
        return "" if self.echo is None or self.method == "HEAD" else "{echo}"

    @property
    def signs(self) -> bool:
        """Does the answer hold an HMAC?"""
        texts = [*texts_of(self.template), *self.answer_headers.values()]
        return any("{hmac_" in text for text in texts)


class AskedPlace(NamedTuple):
    """Where in a request a value stands."""

    kind: Literal["field", "query", "header"]
    name: str


def place_of(text: str, method: str) -> AskedPlace:
    """What a place is, as `when`, `echo` and `visit` write it."""
    kind, colon, name = text.partition(":")
    if colon and kind in ("field", "query", "header"):
        return AskedPlace(kind, name)  # type: ignore[arg-type]
    return AskedPlace("field" if method == "POST" else "query", text)


def scalar_text(value: Any) -> str | None:
    """A text, whole number, true or false as a text; None for everything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


def texts_of(template: Any) -> Iterator[str]:
    """Every text in a template, keys too."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, dict):
        for name, value in template.items():
            yield name
            yield from texts_of(value)
    elif isinstance(template, list):
        for value in template:
            yield from texts_of(value)


# -- what must hold -------------------------------------------------------------------------------

_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_OURS = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "keep-alive",
        "retry-after",
        "server",
        "set-cookie",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "www-authenticate",
        "x-content-type-options",
    }
)
Faults = Iterator[tuple[str, str]]


def problems(
    one: Handshake, methods: Sequence[str], *, shared: bool, messages: Sequence[str] | None
) -> Faults:
    """
    What is wrong with a handshake: (its key, the words). `shared`: the secret is one that both
    sides hold; `messages` are the signed ones of all ways of proof, None where no way is an hmac.
    """
    yield from _method(one, methods, shared=shared)
    yield from _places(one)
    yield from _answer(one)
    yield from _hmac(one, messages)
    yield from _visit(one)


def _method(one: Handshake, methods: Sequence[str], *, shared: bool) -> Faults:
    by_post, token = one.method == "POST", one.token is not None
    if not by_post and one.method in methods:
        yield "method", f"{one.method} cannot be both a delivery and a handshake"
    if by_post and "POST" not in methods:
        yield "method", "a handshake by POST needs POST in `methods`"
    if by_post and not one.when:
        yield "when", "a handshake by POST needs `when`: else every delivery were one"
    if by_post and token:
        yield "token", "`token` is for handshakes by GET; those by POST are verified whole"
    if token and one.unsigned:
        yield "unsigned", "with `token` it is proved: `unsigned` and `token` do not go together"
    if not by_post and token and not shared:
        yield "token", "`token` would show a public key: nobody proves anything with it"


def _places(one: Handshake) -> Faults:
    given = [("when", name) for name in one.when]
    given += [(key, text) for key in ("echo", "visit") if (text := getattr(one, key)) is not None]
    for key, text in given:
        kind, name = place_of(text, one.method)
        if not name:
            yield key, f"`{key}` names a place: a name, `query:NAME`, `header:NAME`, `field:PATH`"
        elif kind == "header" and not _HEADER.fullmatch(name):
            yield key, f"{name!r} is not a header name"
        elif kind == "field" and one.method != "POST":
            yield key, f"a handshake by {one.method} has no body: `field:{name}` is never there"


def _answer(one: Handshake) -> Faults:
    silent = one.method == "HEAD" or one.visit is not None
    if one.echo is None and one.answer is None and not silent:
        yield "echo", "`echo` names what is sent back; without it there is an `answer` or `visit`"
    for key, template in (("answer", one.template), ("answer_headers", one.answer_headers)):
        for text in texts_of(template):
            yield from _text(one, key, text, is_header=key == "answer_headers")
    for name in one.answer_headers:
        if not _HEADER.fullmatch(name):
            yield "answer_headers", f"{name!r} is not a header name"
        elif name.lower() in _OURS:
            yield "answer_headers", f"the router sets {name} itself: take it out"
    if one.method == "HEAD" and one.template:
        yield "answer", "an answer to HEAD has no body: use `answer_headers`"
    if one.status == 204 and one.template:
        yield "answer", "with `status: 204` nothing is sent back: `answer: ''`"


def _text(one: Handshake, key: str, text: str, *, is_header: bool) -> Faults:
    rest = PLACEHOLDER.sub("", text)
    if "{" in rest or "}" in rest:
        yield key, f"`{key}` knows {{echo}}, {{hmac_hex}} and {{hmac_base64}}"
    if rest != text and one.echo is None:
        yield key, f"`{key}` speaks of what is sent back: `echo` names it"
    if is_header and not (rest.isascii() and rest.isprintable()):
        yield key, f"`{key}` is plain printable ASCII"


def _hmac(one: Handshake, messages: Sequence[str] | None) -> Faults:
    if not one.signs:
        return
    if messages is None:
        yield "answer", "an HMAC of what is sent back needs `verify` with the scheme hmac"
    elif one.is_open and not all("{body}" in message for message in messages):
        # Whoever asks would be given the signature of a delivery of his own.
        yield "answer", "an HMAC for anybody who asks needs {body} in `verify.message`"


def _visit(one: Handshake) -> Faults:
    if (one.visit is None) != (not one.hosts):
        yield "hosts", "`visit` and `hosts` go together: only addresses of these hosts are fetched"
    if one.visit is not None and (one.method != "POST" or one.unsigned):
        yield "visit", "`visit` needs a POST that is verified: else anybody could send us anywhere"
    for host in one.hosts:
        if not HOST.fullmatch(host):
            yield (
                "hosts",
                f"{host!r} is not a host: `sns.example.com`, or an end like `.example.com`",
            )
