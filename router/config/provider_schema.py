"""
`providers:` and an endpoint's `verify` as Structs, with the keys of the built-in definitions.

What the keys mean stands in router/providers/definition.py; here an absent key is None.
"""

from typing import Annotated, Literal

import msgspec

from router.yaml_source import Entry, Node, SourceText, Table, doc, named


@named("'body_hash'")
class BodyHashEntry(Entry):
    """Where the hex SHA-256 of the body stands beside the proof."""

    header: Annotated[
        list[SourceText] | None, doc("A header, in any of these spellings.", "X-Body-Hash")
    ] = None
    query: Annotated[SourceText | None, doc("A query parameter.", "hash")] = None
    claim: Annotated[SourceText | None, doc("A claim of the token.", "body_sha256")] = None


@named("'timestamp'", shorthand="header", several=True)
class TimestampEntry(Entry):
    """Where the signed time stands: a header's name, a list of its spellings, or another place."""

    header: Annotated[
        list[SourceText] | None, doc("The header that holds the time.", "X-Timestamp")
    ] = None
    query: Annotated[SourceText | None, doc("The query parameter that does.", "t")] = None
    field: Annotated[SourceText | None, doc("The field of the body that does.", "sent_at")] = None


@named("'certificate'")
class CertificateEntry(Entry):
    """Where a request names the address of the certificate that signed it."""

    header: Annotated[
        list[SourceText] | None, doc("The header that holds the address.", "X-Certificate")
    ] = None
    field: Annotated[
        SourceText | None, doc("The field of the body that does.", "certificate_url")
    ] = None
    hosts: Annotated[
        list[SourceText] | None,
        doc("Where it may be fetched from: hosts, or .ENDS of them.", [".example.com"]),
    ] = None
    names: Annotated[
        list[SourceText] | None, doc("Whom it must be for.", ["hooks.example.com"])
    ] = None
    chain: Annotated[
        bool | None, doc("Whether those that vouch for it are published with it. Default true.")
    ] = None


@named("'introspect'", required=("url", "client_id", "client_secret"))
class IntrospectEntry(Entry):
    """Who is asked about a bearer token (RFC 7662)."""

    url: Annotated[
        SourceText | None,
        doc("The issuer's introspection endpoint.", "https://login.example.com/introspect"),
    ] = None
    client_id: Annotated[SourceText | None, doc("Who asks.", "router")] = None
    client_secret: Annotated[SourceText | None, doc("The secret that shows it.", "login")] = None


class ProofEntry(Entry):
    """How a sender proves itself: what `verify` of an endpoint and of a provider share."""

    header: Annotated[
        list[SourceText] | None,
        doc("The header that holds the signature or token.", "X-Signature"),
    ] = None
    query: Annotated[SourceText | None, doc("The query parameter that does.", "signature")] = None
    field: Annotated[
        SourceText | None,
        doc("The body's field that does: a dotted path in JSON, or a form's.", "signature"),
    ] = None
    each: Annotated[
        SourceText | None, doc("The list of which every item has a proof of its own.", "messages")
    ] = None
    algorithm: Annotated[Literal["sha1", "sha256", "sha384", "sha512"] | None, doc("The hash.")] = (
        None
    )
    encoding: Annotated[
        Literal["hex", "hex_upper", "base64", "base64url"] | None,
        doc("How the signature is written."),
    ] = None
    prefix: Annotated[SourceText | None, doc("What stands before it.", "sha256=")] = None
    separator: Annotated[
        Literal[" ", ",", ";", "&", "|"] | None,
        doc("What stands between several; blanks around them do not count."),
    ] = None
    message: Annotated[
        SourceText | None,
        doc(
            "What is signed, with placeholders; what is in [...] may be absent.",
            "{timestamp}.{body}",
        ),
    ] = None
    partial: Annotated[bool | None, doc("Whether less than the body is signed.")] = None
    equals: Annotated[
        SourceText | None,
        doc("The body's field that must be the secret, which is no key.", "token"),
    ] = None
    timestamp: Annotated[TimestampEntry | None, doc("Where the signed time stands.")] = None
    timestamp_part: Annotated[
        SourceText | None, doc("The part of the signature's list that is the time.", "t")
    ] = None
    time: Annotated[
        Literal["seconds", "milliseconds", "iso8601", "http_date", "utc_date"] | None,
        doc("How that time is written. Default seconds (Unix)."),
    ] = None
    tolerance: Annotated[SourceText | None, doc("How old that time may be.", "5m")] = None
    key: Annotated[
        Literal["text", "base64", "hex"] | None, doc("How a secret or a public key is written.")
    ] = None
    padding: Annotated[
        Literal["pkcs1", "pss"] | None, doc("The padding of an rsa signature. Default pkcs1.")
    ] = None
    user: Annotated[SourceText | None, doc("The user of a password.", "sender")] = None
    audience: Annotated[
        SourceText | None, doc("Whom a token must be for.", "https://hooks.example.com")
    ] = None
    issuer: Annotated[
        SourceText | None, doc("Who must have issued it.", "https://login.example.com")
    ] = None
    algorithms: Annotated[
        list[Literal["RS256", "ES256", "EdDSA", "HS256"]] | None,
        doc("Algorithms that a token may use."),
    ] = None
    jwks_url: Annotated[
        SourceText | None,
        doc(
            "Where the sender publishes the keys of its tokens.",
            "https://login.example.com/keys.json",
        ),
    ] = None
    claims: Annotated[Node | None, doc("Claims that a token must have.", {"scope": "events"})] = (
        None
    )
    certificate: Annotated[
        CertificateEntry | None, doc("Where the certificate that signed a request is.")
    ] = None
    introspect: Annotated[IntrospectEntry | None, doc("Who is asked about a bearer token.")] = None
    body_hash: Annotated[BodyHashEntry | None, doc("Where the body's hash stands too.")] = None


@named("'verify'", shorthand="mode")
class VerifyEntry(ProofEntry):
    """An endpoint's `verify`: the word `none`, or how the sender of a generic provider signs."""

    mode: Annotated[Literal["none"] | None, doc("How requests are verified.")] = None
    signature: Annotated[
        Literal["required", "replaced"] | None,
        doc("Whether the sender's signature is needed beside the token that is described here."),
    ] = None


@named("'verify'", required=("scheme",))
class SchemeEntry(ProofEntry):
    """One way in which a provider's sender proves itself."""

    scheme: Annotated[
        Literal[
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
        | None,
        doc("The kind of proof."),
    ] = None
    ask: Annotated[
        list[SourceText] | None, doc("What each endpoint says in its own 'verify'.", ["audience"])
    ] = None


@named("this source")
class SourceEntry(Entry):
    """Where a value of an event comes from: exactly one of header, field, key, event, body."""

    header: Annotated[
        list[SourceText] | None, doc("A header, in any of these spellings.", "X-Event")
    ] = None
    field: Annotated[
        list[SourceText] | None,
        doc("A dotted path in the event's JSON; the first that is there.", "data.type"),
    ] = None
    key: Annotated[
        list[SourceText] | None,
        doc("The first of these keys that the event has is the value.", ["order", "refund"]),
    ] = None
    event: Annotated[bool | None, doc("The event's own name.")] = None
    body: Annotated[
        bool | None, doc("For an id: the event's name and bytes, where nothing is numbered.")
    ] = None
    varies: Annotated[
        list[SourceText] | None,
        doc("For an id that is `body`: fields whose end a test delivery makes anew.", ["id"]),
    ] = None
    all: Annotated[bool | None, doc("For an id: every field that is there is part of it.")] = None
    named: Annotated[
        Table[SourceText] | None,
        doc("What values are called; others stay as they are.", {"order_new": "order.created"}),
    ] = None
    prefix: Annotated[
        SourceText | None, doc("What the value begins with; it is removed.", "webhook.")
    ] = None
    sample: Annotated[
        SourceText | None, doc("What a test delivery sends in the header.", "1-2-3")
    ] = None


@named("this handshake")
class HandshakeEntry(Entry):
    """One of `respond`: a question of the sender that is answered and not routed."""

    method: Annotated[
        Literal["GET", "POST", "OPTIONS", "HEAD"] | None, doc("How it comes. Default POST.")
    ] = None
    when: Annotated[
        Table[SourceText] | None,
        doc(
            "What makes it a handshake: `field:PATH`, `query:NAME` or `header:NAME` (alone: a "
            "field on POST, else a query parameter) and its value, `*` for any.",
            {"type": "url_verification"},
        ),
    ] = None
    echo: Annotated[
        SourceText | None, doc("The place of the value that is sent back.", "field:challenge")
    ] = None
    token: Annotated[
        SourceText | None,
        doc("Not by POST: the query parameter that must be a live secret.", "verify_token"),
    ] = None
    unsigned: Annotated[bool | None, doc("Whether it comes without a signature.")] = None
    answer: Annotated[
        Node | None,
        doc(
            "What is answered: a text, or a mapping that is sent as JSON, with `{echo}`, "
            "`{hmac_hex}`, `{hmac_base64}`. Default `{echo}`.",
            {"challenge": "{echo}"},
        ),
    ] = None
    answer_headers: Annotated[
        Table[SourceText] | None,
        doc("Headers of the answer, with the same words.", {"X-Hook-Secret": "{echo}"}),
    ] = None
    status: Annotated[int | None, doc("Its status: 200 (default), 201, 202 or 204.")] = None
    visit: Annotated[
        SourceText | None,
        doc("The place of an address that is fetched once, after proof.", "field:confirm_url"),
    ] = None
    hosts: Annotated[
        list[SourceText] | None,
        doc(
            "Hosts of such addresses, or ends of their names that begin with a dot.",
            [".example.com"],
        ),
    ] = None


@named("'answer'")
class UsualAnswerEntry(Entry):
    """`answer` of a provider: what stands in place of the 200's JSON."""

    status: Annotated[int | None, doc("200 to 299.")] = None
    type: Annotated[
        SourceText | None,
        doc("The media type. Default text/plain; charset=utf-8.", "application/json"),
    ] = None
    body: Annotated[SourceText | None, doc("Static text.", "[accepted]")] = None


@named("this group of events", shorthand="name")
class EventGroupEntry(Entry):
    """Events of a provider's catalogue; a lone text is one event."""

    name: Annotated[SourceText | None, doc("One event.")] = None
    group: Annotated[SourceText | None, doc("The group's title in tables.", "Tickets")] = None
    names: Annotated[
        list[SourceText] | None, doc("Its events.", ["ticket.opened", "ticket.closed"])
    ] = None
    actions: Annotated[
        list[SourceText] | None, doc("Actions that these events have.", ["opened", "closed"])
    ] = None
    assumed_actions: Annotated[
        list[SourceText] | None, doc("Actions that the sender's documents do not show.", ["merged"])
    ] = None
    assumed: Annotated[
        bool | None, doc("Whether the sender's documents do not show these events.")
    ] = None


@named("this sample", required=("for", "payload"))
class SampleEntry(Entry):
    """A payload for the named events; `*` is for every event not named before it."""

    events: Annotated[
        list[SourceText] | None, doc("Its events; `*` is all others.", "ticket.*")
    ] = msgspec.field(default=None, name="for")
    payload: Annotated[Node | None, doc("The event's JSON.", {"id": 1})] = None
    assumed: Annotated[
        list[SourceText] | None,
        doc("Events whose payload the sender's documents do not show.", ["ticket.merged"]),
    ] = None


@named("this provider", required=("verify",))
class ProviderEntry(Entry):
    """One entry of `providers`: a kind of sender, as data."""

    label: Annotated[SourceText | None, doc("Its name for people.", "Service desk")] = None
    about: Annotated[
        SourceText | None, doc("One line about it.", "Tickets of the service desk")
    ] = None
    verify: Annotated[SchemeEntry | None, doc("How its requests are proved genuine.")] = None
    also: Annotated[
        list[SchemeEntry] | None,
        doc("Further ways to verify, tried in order.", {"scheme": "token", "header": "X-Token"}),
    ] = None
    refuse_with: Annotated[int | None, doc("The status of a refused request.")] = None
    methods: Annotated[list[SourceText] | None, doc("HTTP methods it sends by.", ["POST"])] = None
    read: Annotated[
        list[Literal["json", "form", "text", "multipart", "xml"]] | None,
        doc("What its bodies are."),
    ] = None
    form_field: Annotated[
        SourceText | None, doc("The field of a form that holds the JSON.", "payload")
    ] = None
    event: Annotated[SourceEntry | None, doc("Where the event's name stands.")] = None
    action: Annotated[SourceEntry | None, doc("Where the event's action stands.")] = None
    id: Annotated[SourceEntry | None, doc("Where the event's own id stands.")] = None
    split: Annotated[int | None, doc("At most how many events a batch holds.")] = None
    split_at: Annotated[
        SourceText | None,
        doc("The path of the batch in the body, where it is not the body.", "events"),
    ] = None
    split_lines: Annotated[bool | None, doc("Whether a batch has one event a line.")] = None
    fields: Annotated[
        Table[SourceEntry] | None,
        doc("Names that it adds to expressions.", {"ticket": {"field": "ticket.id"}}),
    ] = None
    respond: Annotated[list[HandshakeEntry] | None, doc("How a handshake is answered.")] = None
    answer: Annotated[UsualAnswerEntry | None, doc("What deliveries are answered with.")] = None
    ack_within: Annotated[SourceText | None, doc("How soon it wants an answer.", "10s")] = None
    body_max: Annotated[SourceText | None, doc("The largest body.", "1MiB")] = None
    notes: Annotated[
        list[SourceText] | None,
        doc("What an operator should know.", "It sends again for three days."),
    ] = None
    api: Annotated[Node | None, doc("Its own API.", {"base": "https://api.example.com"})] = None
    ranges: Annotated[
        Node | None,
        doc(
            "Where it publishes the addresses that it sends from: `url`, `path`, `where`.",
            {"url": "https://api.example.com/ranges", "path": "hooks"},
        ),
    ] = None
    events: Annotated[
        list[EventGroupEntry] | None, doc("Its catalogue of events.", ["ticket.opened"])
    ] = None
    named_by_users: Annotated[
        list[SourceText] | None,
        doc("Patterns of further events, which its users name.", ["ticket.custom_*"]),
    ] = None
    shapes: Annotated[
        Node | None,
        doc(
            "What its payloads look like.",
            {"payloads": [{"for": "ticket.*", "fields": {"id": "integer"}}]},
        ),
    ] = None
    samples: Annotated[
        list[SampleEntry] | None, doc("Believable payloads, for `send` and tests.")
    ] = None
