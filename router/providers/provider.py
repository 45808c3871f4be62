"""A provider: one definition, compiled, and all that other packages use of it."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec

from router.expressions.field_paths import FieldPath
from router.model.delivery import (
    JSON,
    REMOVED,
    Delivery,
    InboundRequest,
    LiveSecret,
    Refused,
    Verified,
    as_request,
)
from router.model.packed import PACKED, coding
from router.model.patterns import wildcard
from router.model.settings import OWN
from router.providers import secret_kinds
from router.providers.bearer import named_claims
from router.providers.definition import (
    Definition,
    Sample,
    ValueSource,
    body_bytes,
    duration_s,
    spelled,
)
from router.providers.from_shape import payload_of
from router.providers.handshakes import HandshakeAnswer, HandshakeResponder
from router.providers.headers import wire
from router.providers.hiding import without_token
from router.providers.queries import without
from router.providers.read import UNKNOWN, Reader, Reading
from router.providers.redaction import RedactedRequest, redacted
from router.providers.secret_kinds import Invented, SecretVerdict
from router.providers.send import Sender
from router.providers.verify import Verifier
from router.structure import MeasuredBody
from router.typing.lattice import Type
from router.typing.outline import outlined
from router.typing.shapes import NO_PIECES, Pieces, Shapes, parse_shapes


class EventInfo(msgspec.Struct, frozen=True):
    """
    An event of the catalogue. `actions` are all that are known, `assumed_actions` those of them
    that the interface does not show; `assumed` says so of the event itself.
    """

    name: str
    group: str
    actions: tuple[str, ...]
    assumed: bool
    assumed_actions: tuple[str, ...] = ()


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]* ")


class Provider(Sender):
    """
    A kind of sender, from both sides: how it signs, names, numbers and batches. Immutable.

    Sizes in bytes, times in seconds. `signed` is False for a definition that verifies nothing:
    its endpoints must say `verify: none`. `admits` are the methods of deliveries and handshakes;
    `shares_secrets`: some way of proof needs a secret that both sides hold.
    `signs_url`: the address that it was told is part of what it signs.
    `names_freely`: its senders name events, and no catalogue lists them.
    `particular`: it has handshakes, or what proves a request must be hidden.
    `waits`: others are asked about each request; `claims` are what they must say, by address.
    `publishes` are the addresses of its keys, `certificate_hosts` where its certificates may be:
    `proved_elsewhere`, by any of these. `keyless`: an endpoint needs no secret beside them.
    `missing` is the first key of `verify` that an endpoint has yet to say, "" for none.
    `challenge`: what a 401 asks for, where the proof stands in `Authorization`; else None.
    `samples` gives those that are not in the definition, `published` shapes that are not.
    `verify`, `judge`, `accept_unsigned`, `read` and `source` are those of `Verifier` and `Reader`.
    """

    def __init__(
        self,
        definition: Definition,
        samples: Callable[[], tuple[Sample, ...]] | None = None,
        published: Pieces = NO_PIECES,
    ) -> None:
        super().__init__(definition, samples, self._from_shape)
        self._published = published
        self._outlines: dict[int, Type] = {}
        self.name = definition.names[0]
        self.aliases = definition.names[1:]
        self.label = definition.label
        self.signed = definition.verify.scheme != "none"
        self.shares_secrets = any(rule.shared for rule in definition.ways)
        shown = [rule for rule in definition.ways if rule.shows_secret]
        self._shown = frozenset(wire(name) for rule in shown for name in spelled(rule.place))
        tokens = [h.token.encode() for h in definition.respond if h.token is not None]
        self._shown_query = (*(r.query.encode() for r in shown if r.query is not None), *tokens)
        self.signs_url = any("{url}" in rule.message for rule in definition.ways)
        self.challenge = _challenge(definition)
        by_api = definition.api is not None and definition.api.ranges is not None
        self.publishes_ranges = by_api or definition.ranges is not None
        self._shown_fields = [rule for rule in shown if rule.field is not None]
        hides = self._shown or self._shown_query or self._shown_fields
        self.particular = bool(hides or definition.respond)
        self.splits = definition.split is not None
        self.publishes = tuple(r.jwks_url for r in definition.ways if r.jwks_url is not None)
        self.certificate_hosts = tuple(
            host for r in definition.ways if r.certificate for host in r.certificate.hosts
        )
        self.waits = any(rule.waits for rule in definition.ways)
        self.keyless = all(rule.keyless for rule in definition.ways)
        self.missing = next(iter(definition.verify.ask), "")
        self.claims = {r.introspect.url: named_claims(r) for r in definition.ways if r.introspect}
        self.proved_elsewhere = bool(self.publishes or self.certificate_hosts or self.claims)
        self.has_ids = definition.id is not None
        self.sends_ids = definition.id is not None and not definition.id.body
        self.body_max = body_bytes(definition.body_max)
        self.refuse_with: int = definition.refuse_with
        self.methods = frozenset(definition.methods)
        self._handshakes = HandshakeResponder(definition)
        self.admits = self.methods | {h.method for h in definition.respond}
        within = definition.ack_within
        self.ack_within_s = None if within is None else duration_s(within)
        self.root_fields = frozenset(definition.fields)
        version = definition.fields.get("api_version")
        self._versions = tuple(wire(name) for name in spelled(version.header)) if version else ()
        self.has_versions = bool(self._versions)
        self.events = tuple(
            EventInfo(name, g.group, (*g.actions, *g.assumed_actions), g.assumed, g.assumed_actions)
            for g in definition.events
            for name in g.names
        )
        self.names_freely = definition.event != ValueSource() and not self.events
        verifier = Verifier(definition)
        self.verify, self.judge = verifier.verify, verifier.judge
        self.accept_unsigned = verifier.accept_unsigned
        self._reader = Reader(definition)
        self.read, self.source = self._reader.read, self._reader.source

    def may_be_named(self, event: str) -> bool:
        """Whether an event that no catalogue has may come: its name is a user's, or is missing."""
        if event == UNKNOWN:
            return self.name != OWN
        return any(wildcard(one, event) for one in spelled(self.definition.named_by_users))

    def payload(
        self, request: InboundRequest, reading: Reading, weighed: MeasuredBody | None = None
    ) -> JSON:
        """The decoded body of a request that was read so, of a batch all of it; None: of none."""
        if self.definition.split is not None and reading.state == "routed":
            reading = self._unsplit.read(request, weighed)
        return reading.events[0].payload if reading.events else None

    @cached_property
    def _unsplit(self) -> Reader:
        return Reader(msgspec.structs.replace(self.definition, split=None))

    def read_stored(self, delivery: Delivery) -> Reading:
        """A stored delivery, read again: without what was erased, or unpacked to too much then."""
        request, weighed = as_request(delivery), None
        if delivery.state == "too_complex" and PACKED not in delivery.flags and coding(request):
            weighed = MeasuredBody(request.body, "unpacked larger than its endpoint took")
        reading = self.read(request, weighed)
        if delivery.redacted is None or not (gone := delivery.redacted.erased):
            return reading
        left = tuple([event for event in reading.events if event.index not in gone])
        return msgspec.structs.replace(reading, events=left)

    def __repr__(self) -> str:
        return f"Provider({self.name!r})"

    @cached_property
    def shapes(self) -> Shapes:
        """What is known of the payloads, by event name; parsed when first needed."""
        return parse_shapes(self.definition.shapes, self._published, self._outline)

    def _outline(self, event: str) -> Type | None:
        """The outline of the sample that is made for this event; of one sample the same."""
        if (sample := self.named_sample(event)) is None:
            return None
        if id(sample) not in self._outlines:
            self._outlines[id(sample)] = outlined(sample.payload)
        return self._outlines[id(sample)]

    def _from_shape(self, event: str) -> JSON | None:
        """A payload of an event whose shape is published."""
        shape = self.shapes.payload(event) if event in self._published else None
        return None if shape is None else payload_of(shape)

    def unproved(
        self, request: InboundRequest, secrets: Sequence[LiveSecret]
    ) -> HandshakeAnswer | Refused | None:
        """
        The answer to a handshake that comes without a proof, or the refusal of what is neither
        that nor a delivery; None: the request is to prove itself.
        """
        return self._handshakes.unproved(request, secrets)

    def answer(
        self, request: InboundRequest, secrets: Sequence[LiveSecret], verdict: Verified
    ) -> HandshakeAnswer | None:
        """What to answer a proved handshake with; None for everything else."""
        return self._handshakes.answer(request, secrets, verdict)

    def hidden(self, request: InboundRequest) -> InboundRequest:
        """The request without what proved it, where that is the secret itself."""
        removed = REMOVED.encode("ascii")
        headers = tuple((n, removed if n in self._shown else v) for n, v in request.headers)
        query = request.query_string
        for name in self._shown_query:
            query = without(query, name)
        clean = msgspec.structs.replace(request, headers=headers, query_string=query)
        for rule in self._shown_fields:
            clean = without_token(clean, rule)
        return clean

    def redacted(
        self, request: InboundRequest, paths: Sequence[FieldPath], read: Reading | None = None
    ) -> RedactedRequest:
        """The request without the values at these paths; see `redaction`."""
        return redacted(self._reader, request, paths, read)

    def check_secret(self, value: bytes) -> SecretVerdict:
        """Could this value verify anything here?"""
        return secret_kinds.verdict_on(self.definition, value)

    def published(self, made: Invented) -> dict[str, bytes]:
        """What its sender publishes who signs with what was made up, by address."""
        return secret_kinds.published(self.definition, made)

    def can_sign(self, key: bytes) -> bool:
        """Could a sender prove itself with this? Not with a public key."""
        return secret_kinds.can_sign(self.definition, key)

    def api_version(self, request: InboundRequest) -> str | None:
        """The API version that a request says it was made by, None if it says none."""
        for name, value in request.headers:
            if name in self._versions:
                return value.decode("latin-1")
        return None

    def setting(self, event: str) -> str:
        """What to select in the sender's settings for an event: its words there, and the name."""
        words = self.definition.settings.get(event)
        return event if words is None else f"{words} ({event})"

    def invent_secret(self, rng_bytes: Callable[[int], bytes]) -> Invented:
        """A new secret for `--dev` and tests; the randomness is the caller's."""
        return secret_kinds.invented(self.definition.verify, rng_bytes)


def _challenge(definition: Definition) -> bytes | None:
    """`WWW-Authenticate`: the schemes by which a sender can prove itself (RFC 9110, 11.6.1)."""
    places = [r for r in definition.ways if b"authorization" in map(wire, spelled(r.place))]
    words = dict.fromkeys(rule.lead.strip() for rule in places if _SCHEME.fullmatch(rule.lead))
    return ", ".join(f'{word} realm="webhooks"' for word in words).encode("ascii") or None
