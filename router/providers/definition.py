"""
A provider as data: the typed shape of a definition.

Built-in definitions and those that users write have the same keys; `router.providers.validation`
says what must hold between them.
"""

import re
from typing import Any, Literal

import msgspec

from router.model.measures import duration_ms, size_bytes
from router.providers.api import ApiRule
from router.providers.ranges_rule import RangesRule
from router.providers.respond import Handshake

Names = str | tuple[str, ...]
"""One name, or a list of names."""

TokenAlgorithm = Literal["RS256", "ES256", "EdDSA", "HS256"]

BodyKind = Literal["json", "form", "text", "multipart", "xml"]


class ValueSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    Where one value of an event comes from: exactly one of header, field, key, event and body.

    `header`: a header, in any of these spellings. `field`: a dotted path in the event's JSON, or
    several of which the first that is there counts (`all`: all of them, together). `key`:
    the first of these keys that the event has is itself the value. `event`: the event's own name.
    `body`, for an id: the sender numbers nothing and sends the same bytes again, so an event's name
    and bytes say which one it is; `varies` are fields whose end a test delivery makes anew for it,
    of several the first that is there. `prefix` must begin the value and is taken off. `named` says
    what values, also whole numbers, are called; others stay. `sample` is what a test delivery sends
    in the header.
    """

    header: Names = ()
    field: Names | None = None
    key: Names = ()
    event: bool = False
    body: bool = False
    varies: Names = ()
    all: bool = False
    prefix: str = ""
    named: dict[str, str] = {}
    sample: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The dotted paths, the preferred one first."""
        return () if self.field is None else spelled(self.field)

    def sent(self, value: str) -> str:
        """What the sender writes for a value of ours: its own name for it, after the prefix."""
        return self.prefix + next((one for one, name in self.named.items() if name == value), value)


class ProofPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A place in a request: a header in any of these spellings, a query parameter, or a field."""

    header: Names = ()
    query: str | None = None
    field: str | None = None


class BodyHash(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the hex SHA-256 of the body stands too: a header, a parameter, a claim of the token."""

    header: Names = ()
    query: str | None = None
    claim: str = ""

    @property
    def place(self) -> ProofPlace:
        """Where it stands in the request, unless it is a claim."""
        return ProofPlace(self.header, self.query)


class CertificateRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    Where a request names the address of the certificate that signed it.

    Only https and these `hosts` (exact, or the end of one, beginning with a dot), a certificate for
    one of these `names`, with a chain to a trusted root. `chain: false` is for senders that publish
    it alone: then the chain of the host that it came from vouches for it.
    """

    header: Names = ()
    field: str | None = None
    hosts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    chain: bool = True

    @property
    def place(self) -> ProofPlace:
        """Where the address stands."""
        return ProofPlace(header=self.header, field=self.field)


class IntrospectRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who is asked about a token (RFC 7662), and as whom; `client_secret` names a secret."""

    url: str = ""
    client_id: str = ""
    client_secret: str = ""


class VerifyRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    One way in which the sender proves itself.

    A signature (`hmac`, `ecdsa`, `ed25519`, `rsa`) stands in `header`, in the query parameter
    `query` or in the body's `field` (a dotted path in JSON, or a field of a form), after `prefix`,
    in `encoding`. With a `separator` it is a list, and every entry that begins with `prefix` is a
    signature. `message` is what is signed, a template: see `router.providers.messages`. The
    timestamp is a header's (names), in another place, or the entry of the list that begins with
    `timestamp_part`; `time` is how it is written. `tolerance` is the age that it may have
    (`300s`); None: any age. `key` is how an hmac secret or a public key is written; `padding` is
    that of rsa. The hex SHA-256 of the body stands at `body_hash`; the body's field `equals` is the
    secret, where that is no key: with `certificate`. `partial`: the message does not cover the
    body. `each`: every item of the list at this path has a proof of its own, and paths begin at
    the item.

    A `token` stands in `header`, `query` or `field` and is the secret; `basic` is the user and
    password of `Authorization`: with `user` the secret is the password, else it is
    `user:password`. A `jwt` is a bearer token signed by a key of the key set that is the secret or
    published at `jwks_url`, for this `audience`, by this `issuer`, with these `claims`, with one of
    `algorithms`; HS256: by the secret itself. With the `body_hash` in a claim it covers the body,
    and need not expire. `introspection`: who issued a bearer token is asked about it, at
    `introspect`; the answer's `audience`, `issuer` and `claims` are held to as a jwt's. `python`:
    the `function` (`module:function` of `plugins/`) says it, from the body, the headers and the
    secrets; it is not asked where `header` is named and absent. `ask` names what each endpoint says
    in its own `verify`: keys of this rule, or `claims.NAME`.
    """

    scheme: Literal[
        "hmac",
        "ecdsa",
        "ed25519",
        "rsa",
        "token",
        "basic",
        "jwt",
        "introspection",
        "none",
    ]
    header: Names = ()
    query: str | None = None
    field: str | None = None
    algorithm: Literal["sha1", "sha256", "sha384", "sha512"] = "sha256"
    encoding: Literal["hex", "hex_upper", "base64", "base64url"] = "hex"
    prefix: str = ""
    separator: Literal["", " ", ",", ";", "&", "|"] = ""
    message: str = "{body}"
    timestamp: Names | ProofPlace = ()
    timestamp_part: str = ""
    time: Literal["seconds", "milliseconds", "iso8601", "http_date", "utc_date"] = "seconds"
    tolerance: str | None = None
    key: Literal["text", "base64", "hex"] = "text"
    padding: Literal["pkcs1", "pss"] = "pkcs1"
    equals: str | None = None
    partial: bool = False
    each: str | None = None
    user: str | None = None
    audience: str | None = None
    issuer: str | None = None
    algorithms: tuple[TokenAlgorithm, ...] = ("RS256", "ES256", "EdDSA")
    jwks_url: str | None = None
    claims: dict[str, str | bool | int] = {}
    body_hash: BodyHash | None = None
    ask: tuple[str, ...] = ()
    certificate: CertificateRule | None = None
    introspect: IntrospectRule | None = None

    @property
    def waits(self) -> bool:
        """Must others be asked about each request?"""
        return self.scheme == "introspection"

    @property
    def shared(self) -> bool:
        """Do both sides hold the secret? Else it is what everybody may know."""
        return self.scheme in SHARED or (self.scheme == "jwt" and "HS256" in self.algorithms)

    @property
    def keyless(self) -> bool:
        """Does it need no secret of the endpoint, since its keys are published, or others judge?"""
        published = self.jwks_url is not None or "jwks_url" in self.ask
        return published or self.scheme == "introspection"

    @property
    def signs_body(self) -> bool:
        """Does the proof cover the body? A token, a password and a jwt do not."""
        return self.scheme in SIGNATURES and not self.partial

    @property
    def shows_secret(self) -> bool:
        """Must what proves a request be hidden from who keeps it?"""
        return self.scheme in CREDENTIALS

    @property
    def place(self) -> Names:
        """The header that holds the proof, in its spellings; none where it stands elsewhere."""
        if self.header or self.scheme not in CREDENTIALS or self._elsewhere:
            return self.header
        return "Authorization"

    @property
    def stamp(self) -> ProofPlace:
        """Where the timestamp stands, unless it is an entry of the signature's list."""
        given = self.timestamp
        return given if isinstance(given, ProofPlace) else ProofPlace(header=given)

    @property
    def lead(self) -> str:
        """What stands before the proof: `prefix`, or the scheme's word in `Authorization`."""
        own = self.header or self._elsewhere or self.prefix
        return self.prefix if own else _AUTHORIZATION.get(self.scheme, "")

    @property
    def _elsewhere(self) -> bool:
        return self.query is not None or self.field is not None


SIGNATURES = ("hmac", "ecdsa", "ed25519", "rsa")
CREDENTIALS = ("token", "basic", "jwt", "introspection")
SHARED = ("hmac", "token", "basic")
"""Schemes whose secret both sides hold; the others verify with what everybody may know."""

_AUTHORIZATION = {
    "token": "Bearer ",
    "jwt": "Bearer ",
    "introspection": "Bearer ",
    "basic": "Basic ",
}


class UsualAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a sender wants for a delivery, where an endpoint has no `answer` of its own."""

    status: int = 200
    type: str = "text/plain; charset=utf-8"
    body: str = ""


class EventGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Events of the catalogue. `assumed`: known from elsewhere, not shown by the interface."""

    group: str
    names: tuple[str, ...]
    actions: tuple[str, ...] = ()
    assumed_actions: tuple[str, ...] = ()
    assumed: bool = False


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"events": "for"}):
    """
    A believable payload for the named events; `*` is for every event not named before it.

    `assumed` names those of them (`*`: all) whose payload the interface does not show.
    """

    events: Names
    payload: Any
    assumed: Names = ()


class Definition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    A provider, whole. The first of `names` is its name, the others are aliases.

    `generic`: it stands for many senders, and an endpoint's own `verify` replaces this one.
    `also` holds further ways of proof; any one of them is enough, or `together` all are needed.
    `bearer`: its sender can be told to send a bearer token of the user's own issuer, beside its
    signature or instead of it.
    Without `event` every event is
    `unknown`. `read` is what bodies are; of several the content type picks one, else the first.
    `split`: the body (or what is at the path `split_at`, or in `form_field`) is an array of at
    most so many events; without such an array the payload is one event. `split_lines`: the sender
    ends each of them with CRLF and writes `<` `>` `&` as escapes. `form_field`: a form-encoded
    body holds the JSON in this field (where `read` has `form` too: or is the payload). `respond`
    are the handshakes, `answer` is what a delivery gets in place of our own JSON. `body_max` is a
    size (`5MiB`), `ack_within` a time (`5s`). `notes` are further limits and habits of the sender,
    for people. `shapes` are the payloads' types, see `shapes.py`. `named_by_users` are patterns of
    further events, whose names the sender's users make.
    `api` is how its own API is called, `ranges` where it publishes the addresses that it sends
    from, outside of that. `settings` are the words of its settings screen for events
    that have another name there. `known_by`: how header lines begin, in lower case (`x-acme-`,
    `user-agent: acme`; `field: a.b`: a field of the body), that few others send. `source` is
    where its facts are from, `oracle` what our verdicts are held against: its own library, a
    vector that it or its library publishes, or nothing.
    """

    names: tuple[str, ...]
    label: str
    verify: VerifyRule
    generic: bool = False
    event: ValueSource = ValueSource()
    about: str = ""
    known_by: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    oracle: Literal["library", "vector", "none"] = "none"
    also: tuple[VerifyRule, ...] = ()
    together: bool = False
    bearer: bool = False
    refuse_with: Literal[401, 403] = 401
    methods: tuple[str, ...] = ("POST",)
    read: BodyKind | tuple[BodyKind, ...] = "json"
    form_field: str | None = None
    action: ValueSource | None = None
    id: ValueSource | None = None
    split: int | None = None
    split_at: str | None = None
    split_lines: bool = False
    fields: dict[str, ValueSource] = {}
    respond: tuple[Handshake, ...] = ()
    answer: UsualAnswer | None = None
    ack_within: str | None = None
    body_max: str = "5MiB"
    notes: tuple[str, ...] = ()
    events: tuple[EventGroup, ...] = ()
    named_by_users: Names = ()
    samples: tuple[Sample, ...] = ()
    shapes: dict[str, Any] = {}
    api: ApiRule | None = None
    ranges: RangesRule | None = None
    settings: dict[str, str] = {}

    @property
    def ways(self) -> tuple[VerifyRule, ...]:
        """Every way of proof."""
        return (self.verify, *self.also)

    @property
    def reads(self) -> tuple[BodyKind, ...]:
        """What bodies are, the usual kind first."""
        return (self.read,) if isinstance(self.read, str) else self.read


def spelled(names: Names) -> tuple[str, ...]:
    """The spellings as a tuple."""
    return (names,) if isinstance(names, str) else names


def duration_s(text: str) -> float:
    """Seconds in `500ms`, `5s`, `10m`, `2h`, `1d`; not zero."""
    return _above_zero(duration_ms(text), text) / 1_000


def body_bytes(text: str) -> int:
    """Bytes in `64KiB`, `25MiB`, `1GiB`; not zero."""
    return _above_zero(size_bytes(text), text)


def _above_zero(number: int, text: str) -> int:
    if not number:
        raise ValueError(f"'{text}' is not above zero")
    return number


PLACEHOLDER = re.compile(
    r"\{(body|timestamp|id|method|url|path|query|form_sorted|body_sha256|body_crc32|secret"
    r"|header:[A-Za-z0-9-]{1,100}|query:[A-Za-z0-9_.~-]{1,100}|json:[^\s{}\[\]]{1,200})\}"
)
"""What a message may name."""

SEGMENT = re.compile(r"\[([^\[\]]*)\]")
"""A piece of a message that is left out where something in it has nothing."""
