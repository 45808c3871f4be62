"""
`providers:` and an endpoint's `verify` as Structs, with the keys of the built-in definitions.

What the keys mean stands in router/providers/definition.py; here an absent key is None.
"""

from typing import ClassVar, Literal

import msgspec

from router.yaml_source import Entry, Node, SourceText, Table


class ProofEntry(Entry):
    """How a sender proves itself: what `verify` of an endpoint and of a provider share."""

    header: list[SourceText] | None = None
    query: SourceText | None = None
    algorithm: Literal["sha256", "sha512"] | None = None
    encoding: Literal["hex", "base64", "base64url"] | None = None
    prefix: SourceText | None = None
    separator: Literal[" ", ",", ";"] | None = None
    message: SourceText | None = None
    timestamp: list[SourceText] | None = None
    timestamp_part: SourceText | None = None
    tolerance: SourceText | None = None
    key: Literal["text", "base64", "hex"] | None = None
    user: SourceText | None = None
    audience: SourceText | None = None
    issuer: SourceText | None = None
    algorithms: list[Literal["RS256", "ES256", "EdDSA"]] | None = None


class VerifyEntry(ProofEntry):
    """An endpoint's `verify`: the word `none`, or how the sender of a generic provider signs."""

    called: ClassVar[str] = "'verify'"
    shorthand: ClassVar[str | None] = "mode"
    mode: Literal["none"] | None = None


class SchemeEntry(ProofEntry):
    """One way in which a provider's sender proves itself."""

    called: ClassVar[str] = "'verify'"
    required: ClassVar[tuple[str, ...]] = ("scheme",)
    scheme: Literal["hmac", "ecdsa", "ed25519", "token", "basic", "jwt", "none"] | None = None


class SourceEntry(Entry):
    """Where a value of an event comes from: exactly one of header, field, key, event."""

    called: ClassVar[str] = "this source"
    header: list[SourceText] | None = None
    field: list[SourceText] | None = None
    key: list[SourceText] | None = None
    event: bool | None = None
    prefix: SourceText | None = None
    sample: SourceText | None = None


class HandshakeEntry(Entry):
    """One of `respond`: a question of the sender that is answered and not routed."""

    called: ClassVar[str] = "this handshake"
    required: ClassVar[tuple[str, ...]] = ("echo",)
    method: Literal["GET", "POST"] | None = None
    when: Table[SourceText] | None = None
    echo: SourceText | None = None
    token: SourceText | None = None


class EventGroupEntry(Entry):
    """Events of a provider's catalogue; a lone text is one event."""

    called: ClassVar[str] = "this group of events"
    shorthand: ClassVar[str | None] = "name"
    name: SourceText | None = None
    group: SourceText | None = None
    names: list[SourceText] | None = None
    actions: list[SourceText] | None = None
    assumed_actions: list[SourceText] | None = None
    assumed: bool | None = None


class SampleEntry(Entry):
    """A payload for the named events; `*` is for every event not named before it."""

    called: ClassVar[str] = "this sample"
    required: ClassVar[tuple[str, ...]] = ("for", "payload")
    events: list[SourceText] | None = msgspec.field(default=None, name="for")
    payload: Node | None = None
    assumed: list[SourceText] | None = None


class ProviderEntry(Entry):
    """One entry of `providers`: a kind of sender, as data."""

    called: ClassVar[str] = "this provider"
    required: ClassVar[tuple[str, ...]] = ("verify",)
    label: SourceText | None = None
    about: SourceText | None = None
    verify: SchemeEntry | None = None
    also: list[SchemeEntry] | None = None
    refuse_with: int | None = None
    methods: list[SourceText] | None = None
    read: list[Literal["json", "form", "text"]] | None = None
    form_field: SourceText | None = None
    event: SourceEntry | None = None
    action: SourceEntry | None = None
    id: SourceEntry | None = None
    split: int | None = None
    split_lines: bool | None = None
    fields: Table[SourceEntry] | None = None
    respond: list[HandshakeEntry] | None = None
    ack_within: SourceText | None = None
    body_max: SourceText | None = None
    notes: list[SourceText] | None = None
    api: Node | None = None
    events: list[EventGroupEntry] | None = None
    shapes: Node | None = None
    samples: list[SampleEntry] | None = None
