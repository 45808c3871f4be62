"""Columns of a delivery: what every router of these stores must be able to read."""

import msgspec

from router.model.delivery import Delivery, Redaction
from router.store.common.columns import Meta, encode_meta, is_damaged, to_delivery
from tests.store_values import Maker

MARK = Redaction(7, "ab" * 32, ("payload.email",), (3,))


class FormerMeta(msgspec.Struct, array_like=True):
    """How a router reads it that knows no mark."""

    provider: str
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    verified_by: str | None
    event_count: int
    flags: tuple[str, ...]
    peer: str
    replay_of: str | None


def read(delivery: Delivery) -> Delivery:
    row = (delivery.id, delivery.endpoint, delivery.received_at, 0, delivery.generation)
    return to_delivery((*row, encode_meta(delivery), delivery.body))


def test_the_mark_of_a_redacted_delivery_is_stored_with_it() -> None:
    plain = Maker().delivery()
    marked = msgspec.structs.replace(plain, redacted=MARK)
    assert read(marked).redacted == MARK
    assert read(plain).redacted is None
    assert not read(marked).damaged


def test_a_changed_byte_is_still_found_in_a_marked_delivery() -> None:
    marked = msgspec.structs.replace(Maker().delivery(), redacted=MARK)
    assert is_damaged(encode_meta(marked), marked.body + b"x")


def test_a_router_that_knows_no_mark_reads_all_else() -> None:
    marked = msgspec.structs.replace(Maker().delivery(), redacted=MARK)
    former = msgspec.msgpack.decode(encode_meta(marked), type=FormerMeta)
    assert (former.provider, former.headers) == (marked.provider, marked.headers)
    later = msgspec.msgpack.encode((*[""] * 4, (), None, 0, (), "", None, {"unheard": 1}, 5))
    assert msgspec.msgpack.decode(later, type=Meta).provider == ""
