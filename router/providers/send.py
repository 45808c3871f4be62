"""
The sender's side: real signatures and believable payloads for `router send`, tests and `--dev`.
"""

import copy
from collections.abc import Callable, Sequence

import msgspec

from router.expressions import encode_json
from router.model.delivery import JSON
from router.providers import keys
from router.providers.definition import Definition, Names, Sample, spelled
from router.providers.headers import wire
from router.providers.signatures import digest, encode, hmac_digest
from router.providers.verify import filled, message_template, spellings

Signed = tuple[tuple[str, str], ...]


class Invented(msgspec.Struct, frozen=True):
    """A secret made up: what `verify` needs and what `sign` needs (the same for hmac)."""

    verify: bytes
    sign: bytes

    def __repr__(self) -> str:
        return "Invented(***)"


class Sender:
    """Sends as one definition's sender does; header names in their first spelling."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._spellings = spellings(definition)
        self._template = message_template(definition, self._spellings)
        self._names = {name for group in definition.events for name in group.names}

    def split_name(self, event: str) -> tuple[str, str | None]:
        """`workflow_run.completed` as name and action; other names as they are."""
        name, dot, action = event.rpartition(".")
        if dot and self._definition.action is not None and event not in self._names:
            return name, action
        return event, None

    def sign(self, *, event: str, body: bytes, key: bytes, delivery_id: str, now_ms: int) -> Signed:
        """Every header of the sender, content type first, signature last."""
        d, (name, _) = self._definition, self.split_name(event)
        headers = [("Content-Type", "application/json")]
        headers += _header(d.event.header, name)
        headers += _header(d.id.header if d.id else (), delivery_id)
        for source in d.fields.values():
            headers += _header(source.header, source.sample)
        headers += _header(d.verify.timestamp, str(now_ms // 1000))
        if d.verify.scheme != "none":
            headers += _header(d.verify.header, self._signature(headers, body, key))
        return tuple(headers)

    def _signature(self, headers: Sequence[tuple[str, str]], body: bytes, key: bytes) -> str:
        rule = self._definition.verify
        found = {wire(name): value.encode("latin-1") for name, value in headers}
        message = filled(self._template, found, body)
        if message is None:
            raise ValueError("the signed text holds a header that this sender does not send")
        if rule.scheme == "ecdsa":
            raw = keys.sign(key, digest(message))
        else:
            raw = hmac_digest(rule.algorithm, key, message)
        return rule.prefix + encode(raw, rule.encoding).decode("ascii")

    def sample(self, event: str) -> JSON | None:
        """A fresh payload for an event of the catalogue (`name` or `name.action`), else None."""
        name, action = self.split_name(event)
        sample = self._sample(name)
        if sample is None:
            return None
        payload = copy.deepcopy(sample.payload)
        _put(payload, self._definition.event.field, name)
        if self._definition.action is not None:
            _put(payload, self._definition.action.field, action or self._action(name, payload))
        return payload

    def _sample(self, name: str) -> Sample | None:
        for sample in self._definition.samples:
            if name in spelled(sample.events) or (sample.events == "*" and name in self._names):
                return sample
        return None

    def _action(self, name: str, payload: JSON) -> str | None:
        """The action that the sample has, or the first that the catalogue knows."""
        field = self._definition.action.field if self._definition.action else None
        if field is None or not isinstance(payload, dict):
            return None
        if isinstance(payload.get(field), str):
            return str(payload[field])
        groups = (g for g in self._definition.events if name in g.names)
        return next((a for g in groups for a in (*g.actions, *g.assumed_actions)), None)

    def sample_assumed(self, event: str) -> bool:
        """Is the sample's shape known from elsewhere, not shown by the interface?"""
        name, _ = self.split_name(event)
        sample = self._sample(name)
        return sample is not None and (sample.assumed == "*" or name in spelled(sample.assumed))

    def compose(self, payload: JSON, provider_ids: Sequence[str]) -> bytes:
        """
        The body that carries this event once for each id, numbered where ids stand in the event:
        a batch where the sender sends batches, else just the event.
        """
        each = [encode_json(self._numbered(payload, number)) for number in provider_ids]
        if self._definition.split is None:
            return each[0]
        if not self._definition.split_lines:
            return b"[" + b",".join(each) + b"]"
        # These three stand in texts only, so that escapes may take their place anywhere.
        lines = b",\r\n".join(each)
        for sign in b"<>&":
            lines = lines.replace(b"%c" % sign, b"\\u%04x" % sign)
        return b"[" + lines + b"]\r\n"

    def _numbered(self, payload: JSON, provider_id: str) -> JSON:
        where = self._definition.id
        if where is None or where.field is None or not isinstance(payload, dict):
            return payload
        payload = copy.deepcopy(payload)
        _put(payload, where.field, provider_id)
        return payload

    def invent(self, rng_bytes: Callable[[int], bytes]) -> Invented:
        """A new secret or key pair."""
        if self._definition.verify.scheme == "ecdsa":
            private = keys.invent(rng_bytes)
            return Invented(keys.public_of(private), private)
        secret = rng_bytes(32).hex().encode("ascii")
        return Invented(secret, secret)


def _header(names: Names, value: str) -> list[tuple[str, str]]:
    each = spelled(names)
    return [(each[0], value)] if each else []


def _put(payload: JSON, field: str | None, value: str | None) -> None:
    """Set the text at a dotted path, making the objects on the way."""
    if field is None or value is None or not isinstance(payload, dict):
        return
    *way, last = field.split(".")
    for key in way:
        if not isinstance(payload.get(key), dict):
            payload[key] = {}
        payload = payload[key]
    payload[last] = value
