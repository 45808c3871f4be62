"""
Events taken out of a batch: in its body `null` stands for each, so that the others keep their
places.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from hashlib import sha256

import msgspec

from router.model.delivery import REDACTED, Delivery, Redaction, as_request
from router.model.erasure import ErasedPart
from router.model.packed import unpacked
from router.providers import forms
from router.providers.provider import Provider
from router.providers.read import ReadEvent

_NOTHING = b"null"


def without(
    delivery: Delivery, provider: Provider, indexes: frozenset[int], now: int
) -> ErasedPart | None:
    """
    A delivery without these events, as of `now` in Unix milliseconds. None: its body is no list
    that could be cut.
    """
    before = delivery.redacted
    mark = before or Redaction(now, sha256(delivery.body).hexdigest())
    gone, delivery = tuple(sorted({*mark.erased, *indexes})), unpacked(delivery)
    events = provider.read_stored(delivery).events
    left = msgspec.structs.replace(
        delivery,
        body=_cut(delivery, provider, partial(_cut_list, events, indexes)),
        flags=tuple(dict.fromkeys((*delivery.flags, REDACTED))),
        redacted=msgspec.structs.replace(mark, erased=gone),
    )
    wanted = [None if e.index in indexes else e.payload for e in events]
    found = msgspec.structs.replace(left, redacted=before)
    if [e.payload for e in provider.read_stored(found).events] != wanted:
        return None
    return ErasedPart(left, indexes, before)


def _cut(delivery: Delivery, provider: Provider, cut: Callable[[bytes], bytes]) -> bytes:
    """The list stands in the body, or in a field of the form that it is."""
    if provider.source(as_request(delivery)).kind != "field":
        return cut(delivery.body)
    field = (provider.definition.form_field or "").encode("ascii")
    return forms.with_field(delivery.body, field, cut)


def _cut_list(events: Sequence[ReadEvent], indexes: Collection[int], text: bytes) -> bytes:
    parts, reached = [], 0
    for event in events:
        raw = event.raw or text
        begin = text.index(raw, reached)
        parts += [text[reached:begin], _NOTHING if event.index in indexes else raw]
        reached = begin + len(raw)
    return b"".join((*parts, text[reached:]))
