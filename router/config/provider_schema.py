"""
`providers:` and an endpoint's `verify` as Structs, with the keys of the built-in definitions.

What the keys mean stands in router/providers/definition.py; here an absent key is None.
"""

from typing import ClassVar, Literal

import msgspec

from router.yaml_source import Entry, Node, Table, Text


class ProofEntry(Entry):
    """How a sender proves itself: what `verify` of an endpoint and of a provider share."""

    header: list[Text] | None = None
    query: Text | None = None
    algorithm: Literal["sha256", "sha512"] | None = None
    encoding: Literal["hex", "base64", "base64url"] | None = None
    prefix: Text | None = None
    separator: Literal[" ", ",", ";"] | None = None
    message: Text | None = None
    timestamp: list[Text] | None = None
    timestamp_part: Text | None = None
    tolerance: Text | None = None
    key: Literal["text", "base64", "hex"] | None = None
    user: Text | None = None
    audience: Text | None = None
    issuer: Text | None = None
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
    """Where a value of an event comes from: exactly one of header, field, event."""

    called: ClassVar[str] = "this source"
    header: list[Text] | None = None
    field: list[Text] | None = None
    event: bool | None = None
    prefix: Text | None = None
    sample: Text | None = None


class HandshakeEntry(Entry):
    """One of `respond`: a question of the sender that is answered and not routed."""

    called: ClassVar[str] = "this handshake"
    required: ClassVar[tuple[str, ...]] = ("echo",)
    method: Literal["GET", "POST"] | None = None
    when: Table[Text] | None = None
    echo: Text | None = None
    token: Text | None = None


class EventGroupEntry(Entry):
    """Events of a provider's catalogue; a lone text is one event."""

    called: ClassVar[str] = "this group of events"
    shorthand: ClassVar[str | None] = "name"
    name: Text | None = None
    group: Text | None = None
    names: list[Text] | None = None
    actions: list[Text] | None = None
    assumed_actions: list[Text] | None = None
    assumed: bool | None = None


class SampleEntry(Entry):
    """A payload for the named events; `*` is for every event not named before it."""

    called: ClassVar[str] = "this sample"
    required: ClassVar[tuple[str, ...]] = ("for", "payload")
    events: list[Text] | None = msgspec.field(default=None, name="for")
    payload: Node | None = None
    assumed: list[Text] | None = None


class ProviderEntry(Entry):
    """One entry of `providers`: a kind of sender, as data."""

    called: ClassVar[str] = "this provider"
    required: ClassVar[tuple[str, ...]] = ("verify",)
    label: Text | None = None
    about: Text | None = None
    verify: SchemeEntry | None = None
    also: list[SchemeEntry] | None = None
    refuse_with: int | None = None
    methods: list[Text] | None = None
    read: list[Literal["json", "form", "text"]] | None = None
    form_field: Text | None = None
    event: SourceEntry | None = None
    action: SourceEntry | None = None
    id: SourceEntry | None = None
    split: int | None = None
    split_lines: bool | None = None
    fields: Table[SourceEntry] | None = None
    respond: list[HandshakeEntry] | None = None
    ack_within: Text | None = None
    body_max: Text | None = None
    notes: list[Text] | None = None
    api: Node | None = None
    events: list[EventGroupEntry] | None = None
    shapes: Node | None = None
    samples: list[SampleEntry] | None = None
