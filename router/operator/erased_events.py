"""
Events taken out of a batch: in its body `null` stands for each, so that the others keep their
places.
"""

from collections.abc import Collection, Sequence
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode

import msgspec

from router.model.delivery import REDACTED, Delivery, Redaction
from router.model.erasure import ErasedPart
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
    gone = tuple(sorted({*mark.erased, *indexes}))
    events = provider.read_stored(delivery).events
    left = msgspec.structs.replace(
        delivery,
        body=_cut(delivery.body, events, indexes),
        flags=tuple(dict.fromkeys((*delivery.flags, REDACTED))),
        redacted=msgspec.structs.replace(mark, erased=gone),
    )
    wanted = [None if e.index in indexes else e.payload for e in events]
    found = msgspec.structs.replace(left, redacted=before)
    if [e.payload for e in provider.read_stored(found).events] != wanted:
        return None
    return ErasedPart(left, indexes, before)


def _cut(body: bytes, events: Sequence[ReadEvent], indexes: Collection[int]) -> bytes:
    """The list stands in the body, or in a field of the form that it is."""
    if (found := _cut_list(body, events, indexes)) is not None:
        return found
    fields = parse_qsl(body, keep_blank_values=True)
    cut = [(name, _cut_list(value, events, indexes) or value) for name, value in fields]
    return urlencode(cut).encode()


def _cut_list(text: bytes, events: Sequence[ReadEvent], indexes: Collection[int]) -> bytes | None:
    parts, reached = [], 0
    for event in events:
        raw = event.raw or text
        if (begin := text.find(raw, reached)) < 0:
            return None
        parts += [text[reached:begin], _NOTHING if event.index in indexes else raw]
        reached = begin + len(raw)
    return b"".join((*parts, text[reached:]))
