"""
A verified request becomes a Reading: its events, named and numbered.

Nothing here refuses: a genuine body that is odd is `unparsed` or `too_complex`, and stored.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from router.expressions import NotJson, decode_json
from router.model.delivery import JSON, DeliveryEvent, InboundRequest
from router.model.odd_body import OddBodyError
from router.model.packed import HEADER, PACKED, bare, coding, opened
from router.providers import forms
from router.providers.definition import BodyKind, Definition, ValueSource, spelled
from router.providers.headers import Spellings
from router.providers.multipart_form import is_multipart, parts_of
from router.providers.xml_body import elements_of
from router.structure import MeasuredBody, too_complex

UNKNOWN = "unknown"
NAME_LENGTH_MAX = 200
INDEX_DIGITS_MAX = 6
_SPACE = b" \t\r\n"
_BODILESS = frozenset({"GET", "HEAD", "DELETE"})
"""Methods whose form stands in the address."""


class ReadEvent(msgspec.Struct, frozen=True):
    """
    One event of a delivery.

    `raw` is its exact JSON when the delivery's body is not (a batch, a form), else None.
    `fields` holds the roots that the provider adds; one that this event lacks is not in it.
    `provider_id` is the sender's id of this event, None if it sent none.
    """

    index: int
    name: str
    action: str | None
    payload: JSON
    raw: bytes | None
    fields: dict[str, JSON]
    provider_id: bytes | None

    def event(self, id_: str = "") -> DeliveryEvent:
        """As rules see it; without an id where nothing is stored."""
        return DeliveryEvent(
            id_, self.index, self.name, self.action, self.payload, self.raw, self.fields
        )


class Reading(msgspec.Struct, frozen=True):
    """
    A delivery, read. Without events unless `routed`; `reason` says why for the other states.

    `event_name` and `delivery_id` are the headers' (`unknown` and None for a batch). Flags:
    `no_id`: an id was due and did not come.
    """

    state: Literal["routed", "unparsed", "too_complex"]
    events: tuple[ReadEvent, ...]
    flags: tuple[str, ...]
    reason: str | None
    event_name: str
    delivery_id: bytes | None


class PayloadSource(NamedTuple):
    """
    What a payload is read from: a text of this kind, `field` for the JSON in a field of a form.
    `in_query`: the text is the query, else the body. `lists`: a list in its JSON is a batch.
    """

    kind: BodyKind | Literal["field"]
    text: bytes
    content_type: bytes
    in_query: bool
    lists: bool


Found = dict[bytes, bytes]


Payloads = Sequence[tuple[JSON, bytes | None]]
"""The payload of each event, and its exact JSON where that is not the body."""

Getter = Callable[[Found, str, JSON], str | None]
"""(headers by part, the event's name, its payload) to a text, or None if it is not there."""


class Reader:
    """Reads requests by one definition."""

    def __init__(self, definition: Definition) -> None:
        parts = [s.header for s in _sources(definition) if s.header]
        self._headers = Spellings([*parts, "content-type", "content-encoding"])
        self._event = self._getter(definition.event)
        self._event_header = bool(definition.event.header)
        number = None if definition.id is None or definition.id.body else definition.id
        self._id = self._getter(number, numbers=True) if number else None
        self._id_header = self._headers.part(number.header) if number else None
        self._action = self._getter(definition.action) if definition.action else None
        self._fields = [(name, self._getter(s)) for name, s in definition.fields.items()]
        self._split = definition.split
        self.split_at = tuple(definition.split_at.split(".")) if definition.split_at else ()
        self._kinds = definition.reads
        self._json_only = definition.reads == ("json",)
        self.form_field = (definition.form_field or "").encode("ascii")

    def read(self, request: InboundRequest, weighed: MeasuredBody | None = None) -> Reading:
        """
        The events of a verified request, or why it has none; never raises. `weighed`: what is
        known of its body, unpacked if it came packed.
        """
        # Every delivery goes this way: one plain loop, without a step for each part of an event.
        found = self._headers.first(request.headers)
        named = _named(self._event(found, "", None)) if self._event_header else None
        number = self._id(found, "", None) if self._id_header and self._id else None
        delivery_id = number.encode("latin-1") if number else None
        flags: tuple[str, ...] = ()
        try:
            if HEADER in found:
                request = _opened(request, weighed)
                flags = () if HEADER in dict(request.headers) else (PACKED,)
            payloads = self._payloads(found, request, weighed)
        except OddBodyError as odd:
            flags = (*flags, "no_id") if self._id_header and delivery_id is None else flags
            return Reading(odd.state, (), flags, odd.reason, named or UNKNOWN, delivery_id)
        events: list[ReadEvent] = []
        for payload, raw in payloads:
            name = named or _named(self._event(found, "", payload))
            action = self._action(found, name, payload) if self._action else None
            fields = {}
            for root, get in self._fields:
                if (value := get(found, name, payload)) is not None:
                    fields[root] = value
            provider_id = delivery_id
            if self._id:
                if not self._id_header:
                    number = self._id(found, name, payload)
                    provider_id = number.encode("utf-8") if number else None
                if provider_id is None and "no_id" not in flags:
                    flags = (*flags, "no_id")
            events.append(ReadEvent(len(events), name, action, payload, raw, fields, provider_id))
        return Reading("routed", tuple(events), flags, None, named or UNKNOWN, delivery_id)

    def _payloads(
        self, found: Found, request: InboundRequest, weighed: MeasuredBody | None
    ) -> Payloads:
        """What the body holds, an event each."""
        kind, text, content_type, _, lists = self._source(found, request)
        raw = None
        if kind == "json":
            payload = decoded(text, weighed)
            raw = text.strip(_SPACE) if lists else None
        elif kind == "field":
            raw = _read(forms.field_of, text, self.form_field)
            payload = decoded(raw)
        elif kind == "form":
            payload = _read(forms.fields_of, text)
        elif kind == "text":
            payload = _read(bytes.decode, text)
        elif kind == "multipart":
            payload = forms.by_name(part[:2] for part in parts_of(text, content_type))
        else:
            payload = elements_of(text)
        return ((payload, raw),) if self._split is None else self._batch(payload, raw, self._split)

    def source(self, request: InboundRequest) -> PayloadSource:
        """What the payload of a request, not packed, is read from."""
        return self._source(self._headers.first(request.headers), request)

    def _source(self, found: Found, request: InboundRequest) -> PayloadSource:
        content_type, lists = found.get(b"content-type", b""), self._split is not None
        if self._json_only and (request.body or request.method not in _BODILESS):
            in_form = self.form_field and forms.is_form(content_type)
            return PayloadSource(
                "field" if in_form else "json", request.body, content_type, False, lists
            )
        kind = kind_of(content_type, self._kinds)
        if kind != "form":
            # Whatever type is named: nothing was sent.
            empty = not request.body and (self._json_only or "text" in self._kinds)
            return PayloadSource(
                "text" if empty else kind, request.body, content_type, False, False
            )
        # Who sends no body sends a form in the address.
        in_query = request.method in _BODILESS
        form = request.query_string if in_query else request.body
        in_field = self.form_field and forms.has_field(form, self.form_field)
        return PayloadSource("field" if in_field else "form", form, content_type, in_query, lists)

    def _batch(self, payload: JSON, raw: bytes | None, most: int) -> Payloads:
        """The events of a list; what is no list, or holds none at `split_at`, is one event."""
        events = _at(payload, self.split_at)
        if raw is None or not isinstance(events, list):
            return ((payload, raw),)
        if len(events) > most:
            raise OddBodyError("too_complex", f"over {most:,} events")
        for step in self.split_at:
            raw = bytes(_MEMBERS.decode(raw)[step])
        return [(p, bytes(r)) for p, r in zip(events, _SLICES.decode(raw), strict=True)]

    def _getter(self, source: ValueSource, *, numbers: bool = False) -> Getter:
        if source.named:
            plain = msgspec.structs.replace(source, named={})
            return _named_getter(self._getter(plain, numbers=True), source.named)
        if source.event:
            return lambda _found, name, _payload: name
        if source.all:
            plain = msgspec.structs.replace(source, all=False)
            each = [msgspec.structs.replace(plain, field=path) for path in source.paths]
            return _joined_getter([self._getter(one, numbers=True) for one in each])
        if source.paths:
            return _field_getter(
                [tuple(path.split(".")) for path in source.paths], source.prefix, numbers=numbers
            )
        if source.key:
            return _key_getter(spelled(source.key))
        part = self._headers.part(source.header)
        return _header_getter(part or b"", source.prefix)


def _opened(request: InboundRequest, weighed: MeasuredBody | None) -> InboundRequest:
    """The request with its body unpacked; that may have been done, or have been found too much."""
    if weighed is None or coding(request) is None:
        return opened(request)
    if weighed.body is request.body:
        raise OddBodyError(weighed.state, weighed.reason or "")
    return bare(request, weighed.body)


_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SLICES = msgspec.json.Decoder(list[msgspec.Raw])


def decoded(body: bytes, weighed: MeasuredBody | None = None) -> JSON:
    """
    The JSON value of a body, `weighed` here if that has not been done.

    Raises:
        OddBodyError: it is too complex to decode, or no JSON.
    """
    reason = weighed.reason if weighed is not None and weighed.body is body else too_complex(body)
    if reason:
        raise OddBodyError("too_complex", reason)
    try:
        return decode_json(body)
    except (NotJson, RecursionError) as e:
        raise OddBodyError("unparsed", str(e)) from None


_NAMED: tuple[tuple[bytes, BodyKind], ...] = (
    (b"json", "json"),
    (b"xml", "xml"),
    (b"text/", "text"),
)


def kind_of(content_type: bytes, kinds: tuple[BodyKind, ...]) -> BodyKind:
    """What a body is: by its content type, where several kinds are known, else the first."""
    if len(kinds) > 1:
        if forms.is_form(content_type) and "form" in kinds:
            return "form"
        if is_multipart(content_type) and "multipart" in kinds:
            return "multipart"
        for word, kind in _NAMED:
            if word in content_type[:256].lower() and kind in kinds:
                return kind
    return kinds[0]


def _read(read: Callable[..., Any], *given: bytes) -> Any:
    """What `read` makes of a text or a form; what it refuses is an odd body."""
    try:
        return read(*given)
    except UnicodeDecodeError:
        raise OddBodyError("unparsed", "the text is not UTF-8") from None
    except forms.FormTooLargeError as e:
        raise OddBodyError("too_complex", str(e)) from None
    except forms.FormError as e:
        raise OddBodyError("unparsed", str(e)) from None


def _sources(definition: Definition) -> Iterable[ValueSource]:
    optional = (definition.id, definition.action)
    return [definition.event, *definition.fields.values(), *(s for s in optional if s)]


def _named(text: str | None) -> str:
    """A name fit for logs and metrics; everything else is `unknown`."""
    if not text or len(text) > NAME_LENGTH_MAX or not text.isprintable():
        return UNKNOWN
    return text


def _header_getter(part: bytes, prefix: str) -> Getter:
    def get(found: Found, _name: str, _payload: JSON) -> str | None:
        if part not in found:
            return None
        text = found[part].decode("latin-1")
        return _without(prefix, text) if prefix else text

    return get


def _named_getter(get: Getter, names: Mapping[str, str]) -> Getter:
    def named(found: Found, name: str, payload: JSON) -> str | None:
        value = get(found, name, payload)
        return None if value is None else names.get(value, value)

    return named


def _joined_getter(each: Sequence[Getter]) -> Getter:
    def joined(found: Found, name: str, payload: JSON) -> str | None:
        values = [get(found, name, payload) for get in each]
        return " ".join(filter(None, values)) if all(values) else None

    return joined


def _key_getter(keys: Sequence[str]) -> Getter:
    def get(_found: Found, _name: str, payload: JSON) -> str | None:
        return next((k for k in keys if k in payload), None) if isinstance(payload, dict) else None

    return get


def _field_getter(paths: Sequence[tuple[str, ...]], prefix: str, *, numbers: bool) -> Getter:
    """The first of the paths at which a text is (or, for ids, a whole number)."""
    if len(paths) == 1 and not numbers and not any(step.isdecimal() for step in paths[0]):
        return _one_field_getter(paths[0], prefix)

    def get(_found: Found, _name: str, payload: JSON) -> str | None:
        for path in paths:
            value = _at(payload, path)
            if isinstance(value, str):
                return _without(prefix, value)
            if numbers and isinstance(value, int) and not isinstance(value, bool):
                return str(value)
        return None

    return get


def _one_field_getter(path: tuple[str, ...], prefix: str) -> Getter:
    """The usual case, for every event: one path and texts only."""

    def get(_found: Found, _name: str, payload: JSON) -> str | None:
        value = payload
        for key in path:
            if not isinstance(value, dict):
                return None
            value = value.get(key)
        if not isinstance(value, str):
            return None
        return _without(prefix, value) if prefix else value

    return get


def _at(payload: JSON, path: Iterable[str]) -> JSON:
    for step in path:
        payload = stepped(payload, step)
    return payload


def stepped(value: JSON, step: str) -> JSON:
    """What is one step into an object, or by a number into a list; None for nothing."""
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal() and len(step) <= INDEX_DIGITS_MAX:
        return value[int(step)] if int(step) < len(value) else None
    return None


def dug(payload: JSON, path: str) -> JSON:
    """What is at a dotted path; None for nothing."""
    return _at(payload, path.split("."))


def _without(prefix: str, text: str) -> str | None:
    return text[len(prefix) :] if text.startswith(prefix) else None
