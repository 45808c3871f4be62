"""
The sender's side: real signatures and believable payloads for `router send`, tests and `--dev`.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from urllib.parse import urlencode

import msgspec

from router.expressions import decode_json, encode_json
from router.model.delivery import JSON, InboundRequest
from router.model.patterns import wildcard
from router.providers import multipart_form, xml_body
from router.providers.definition import Definition, Sample, spelled
from router.providers.read import dug, stepped
from router.providers.secret_kinds import trial_key, way_of
from router.providers.signing import Headers, SignedRequest, Signing, header

_CONTENT_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain; charset=utf-8",
    "multipart": f"multipart/form-data; boundary={multipart_form.BOUNDARY}",
    "xml": "application/xml",
}

_END = re.compile(r"[^\W_]{1,12}(?=[\W_]*\Z)")
"""The last letters and digits of a text."""

_NOWHERE = "http://127.0.0.1"
"""What a sender was told who was told nothing: its signature fits no address."""


class Sender:
    """
    Sends as one definition's sender does; header names in their first spelling.

    `apart` gives the samples of a definition that has them elsewhere; called at most once. `made`
    gives a payload of an event that has no sample of its own, None where it cannot.
    """

    def __init__(
        self,
        definition: Definition,
        apart: Callable[[], tuple[Sample, ...]] | None = None,
        made: Callable[[str], JSON | None] = lambda _: None,
    ) -> None:
        self.definition = definition
        self._apart = apart
        self._made = made
        self._names = {name for group in definition.events for name in group.names}
        # A payload is mostly JSON: a text only where nothing else is read.
        self._kind = next((k for k in definition.reads if k != "text"), "text")

    @cached_property
    def _samples(self) -> tuple[Sample, ...]:
        return self.definition.samples if self._apart is None else self._apart()

    def split_name(self, event: str) -> tuple[str, str | None]:
        """`workflow_run.completed` as name and action; other names as they are, with None."""
        name, dot, action = event.rpartition(".")
        if dot and self.definition.action is not None and event not in self._names:
            return name, action
        return event, None

    def sign(
        self, *, event: str, body: bytes, key: bytes, delivery_id: str, now_ms: int
    ) -> Headers:
        """
        The headers of `prove`, for senders whose proof is a header.

        Raises:
            ValueError: the key cannot sign.
        """
        made = self.prove(event=event, body=body, key=key, delivery_id=delivery_id, now_ms=now_ms)
        return made.headers

    def prove(
        self,
        *,
        event: str,
        body: bytes,
        key: bytes,
        delivery_id: str,
        now_ms: int,
        address: str = "/",
        public_url: str = "",
    ) -> SignedRequest:
        """
        The request that the sender would send to `address` (a path), told as `public_url`; for
        key pairs `key` is a private PEM.

        Raises:
            ValueError: the key cannot sign, or the body lacks what is signed.
        """
        rule = way_of(self.definition, key)
        request = InboundRequest(
            method=self.definition.methods[0],
            raw_path=address.encode("latin-1"),
            query_string=b"",
            headers=(),
            body=body,
            peer="",
            received_at=now_ms,
            public_url=public_url or _NOWHERE,
        )
        headers = self.unsigned(event, delivery_id)
        made = Signing(self.definition, rule, key).signed(request, headers)
        for other in self.definition.also if self.definition.together else ():
            request = msgspec.structs.replace(request, body=made.body)
            made = Signing(self.definition, other, trial_key(other)).signed(request, made.headers)
        return made

    def unsigned(self, event: str, delivery_id: str) -> Headers:
        """The headers that say what a delivery is, but not who sent it: for who only reads."""
        d, (name, _) = self.definition, self.split_name(event)
        headers = header("Content-Type", _CONTENT_TYPES[self._kind])
        headers += header(d.event.header, d.event.sent(name))
        headers += header(d.id.header if d.id else (), delivery_id)
        for source in d.fields.values():
            headers += header(source.header, source.sample)
        return headers

    def sample(self, event: str) -> JSON | None:
        """A believable payload of one event (`name` or `name.action`), None for an unknown one."""
        name, action = self.split_name(event)
        sample = self._sample(name)
        if sample is None and self._names and name not in self._names:
            return None
        payload = {} if sample is None else _fresh(sample.payload)
        source = self.definition.event
        _put(payload, source.paths, source.sent(name))
        _name_by_key(payload, spelled(source.key), source.sent(name))
        if self.definition.action is not None:
            known = (g for g in self.definition.events if name in g.names)
            first = next((a for g in known for a in (*g.actions, *g.assumed_actions)), None)
            named = action or self.action_of(payload) or first
            _put(payload, self.definition.action.paths, named)
        return payload

    def action_of(self, payload: JSON) -> str | None:
        """The action that a payload holds, where this sender's payloads hold it."""
        source = self.definition.action
        found = [dug(payload, path) for path in source.paths] if source is not None else []
        return next((action for action in found if isinstance(action, str)), None)

    def named_sample(self, name: str) -> Sample | None:
        """The sample that is made for this event by name."""
        each = [(s, spelled(s.events)) for s in self._samples]
        fits = (s for s, events in each if any(wildcard(e, name) for e in events if e != "*"))
        return next((s for s, events in each if name in events), next(fits, None))

    def _sample(self, name: str) -> Sample | None:
        named = self.named_sample(name)
        if named is not None or (self._names and name not in self._names):
            return named
        if (payload := self._made(name)) is not None:
            return Sample(name, payload, assumed=name)
        return next((s for s in self._samples if "*" in spelled(s.events)), None)

    def sample_assumed(self, event: str) -> bool:
        """Is the shape of this event's sample known from elsewhere, not from the interface?"""
        name, _ = self.split_name(event)
        sample = self._sample(name)
        return sample is not None and {"*", name} & set(spelled(sample.assumed)) != set()

    def compose(self, payload: JSON, *provider_ids: str) -> bytes:
        """
        The body that carries one event; an id goes into it where ids stand there. Several ids
        make a batch, where the sender sends batches.
        """
        return self.body([self.numbered(payload, one) for one in provider_ids])

    def body(self, events: Sequence[JSON]) -> bytes:
        """The body that carries these events, as they are; several where batches are sent."""
        d = self.definition
        if d.split is None:
            return encode_json(events[0]) if self._kind == "json" else _plain(self._kind, events[0])
        batch = self._batch([encode_json(event) for event in events])
        return urlencode({d.form_field or "": batch}).encode() if self._kind == "form" else batch

    def _batch(self, each: Sequence[bytes]) -> bytes:
        d = self.definition
        if not d.split_lines:
            steps = d.split_at.split(".") if d.split_at else ()
            before = b"".join(b"{%b:" % encode_json(step) for step in steps)
            return before + b"[" + b",".join(each) + b"]" + b"}" * len(steps)
        # These three stand in texts only, so that escapes may take their place anywhere.
        lines = b",\r\n".join(each)
        for sign in b"<>&":
            lines = lines.replace(b"%c" % sign, b"\\u%04x" % sign)
        return b"[" + lines + b"]\r\n"

    def numbered(self, payload: JSON, provider_id: str) -> JSON:
        """
        The event with this id, where ids stand in events, of the type that was there. Where bytes
        alone tell events apart, one that differs from those with other ids.
        """
        where = self.definition.id
        if where is None or not isinstance(payload, dict):
            return payload
        if where.body:
            return _varied(_fresh(payload), spelled(where.varies), provider_id)
        if not where.paths:
            return payload
        payload = _fresh(payload)
        whole = next((path for path in where.paths if type(dug(payload, path)) is int), None)
        if whole is not None:
            # For senders that number: the same for the same text, exact in every JSON reader.
            digest = sha256(provider_id.encode("utf-8")).digest()
            _put(payload, (whole,), int.from_bytes(digest[:6]) + 1)
        else:
            _put(payload, where.paths, provider_id)
        return payload


def _fresh(payload: JSON) -> JSON:
    """A copy that shares nothing, several times as fast as `copy.deepcopy`."""
    return decode_json(encode_json(payload))


def _varied(payload: JSON, paths: Sequence[str], provider_id: str) -> JSON:
    """With another end of the first of these that is there: another id, or a time nearby."""
    digest = sha256(provider_id.encode("utf-8")).digest()
    there = next((path for path in paths if type(dug(payload, path)) in (str, int)), None)
    if there is None:
        return payload
    value = str(dug(payload, there))
    kept = 4 if value.isdecimal() else 0
    other = _END.sub(lambda found: _like(found[0], digest), value[kept:])
    _put(payload, (there,), value[:kept] + other)
    return payload


def _like(text: str, digest: bytes) -> str:
    """Another text of this length: digits for digits, else hex."""
    if text.isdecimal():
        return f"{int.from_bytes(digest[:6]):012}"[-len(text) :]
    return digest.hex()[: len(text)]


def _plain(kind: str, payload: JSON) -> bytes:
    """A body that is no JSON: a form of an object's fields, an element, or a text."""
    if kind == "multipart" and isinstance(payload, dict):
        return multipart_form.written(payload)
    if kind == "xml" and isinstance(payload, dict):
        root = next(iter(payload.items()), ("empty", ""))
        return xml_body.written(*root).encode("utf-8")
    if kind == "text" and isinstance(payload, str):
        return payload.encode("utf-8")
    if kind == "form" and isinstance(payload, dict):
        fields = {
            name: value if _is_plain(value) else encode_json(value).decode("utf-8")
            for name, value in payload.items()
        }
        return urlencode(fields, doseq=True).encode("ascii")
    return encode_json(payload)


def _is_plain(value: JSON) -> bool:
    each = value if isinstance(value, list) else [value]
    return all(isinstance(item, str) for item in each)


def _name_by_key(payload: JSON, keys: Sequence[str], name: str) -> None:
    """Make `name` the first of `keys` that is there, with what the sample has under any of them."""
    if name not in keys or not isinstance(payload, dict):
        return
    before = keys[: keys.index(name)] if name in payload else keys
    held = [payload.pop(key) for key in before if key in payload and key != name]
    payload.setdefault(name, held[0] if held else {})


def _put(payload: JSON, paths: Sequence[str], value: str | int | None) -> None:
    """
    Set the value at the dotted path that has a text or a number (which it stays), else at the
    first, making the way there.
    """
    if not paths or value is None or not isinstance(payload, dict):
        return
    there = next((path for path in paths if type(dug(payload, path)) in (str, int)), paths[0])
    if type(dug(payload, there)) is int and str(value).isdecimal():
        value = int(value)
    *way, last = there.split(".")
    for step in way:
        inner = stepped(payload, step)
        if not isinstance(inner, dict | list) and isinstance(payload, dict):
            inner = payload[step] = {}
        payload = inner
    if isinstance(payload, dict):
        payload[last] = value
