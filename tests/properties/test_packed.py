"""Whatever a body holds, packed it is read as it is plain; no more is unpacked than asked for."""

import gzip
import zlib
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from router.model.delivery import InboundRequest
from router.model.odd_body import OddBodyError
from router.model.packed import (
    PACKED,
    STEP,
    TIMES_MAX,
    body_size,
    opened,
    pieces,
    plain_body,
    unpacked,
)
from router.providers.definition import Definition
from router.providers.provider import Provider
from router.rules.redacting import taken_out
from tests.builders import a_delivery, a_redact, a_request

Pack = Callable[[bytes], bytes]
PROVIDER = Provider(
    msgspec.convert(
        {
            "names": ["any"],
            "label": "Any",
            "verify": {"scheme": "none"},
            "read": ["json", "form", "text", "multipart", "xml"],
            "event": {"field": "kind"},
            "id": {"field": "id"},
        },
        Definition,
    )
)
PACKS: dict[tuple[str, bytes], Pack] = {
    ("gzip", b"gzip"): gzip.compress,
    ("members", b"gzip"): lambda b: b"".join(
        gzip.compress(b[i : i + 7]) for i in range(0, len(b), 7)
    ),
    ("zlib", b"deflate"): zlib.compress,
    ("raw", b"Deflate"): lambda b: zlib.compress(b, wbits=-15),
}
TYPES = [b"application/json", b"application/x-www-form-urlencoded", b"text/plain", b"text/xml",
         b"multipart/form-data; boundary=X"]  # fmt: skip
packs = st.sampled_from(sorted(PACKS))
json_texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["kind", "id", "mail", "x"]), inner, max_size=4)
    ),
    max_leaves=20,
).map(msgspec.json.encode)
bodies = st.binary(min_size=1, max_size=300) | json_texts | st.just(b"kind=a&id=7&mail=x%40y")


def both(
    body: bytes, kind: bytes, pack: tuple[str, bytes]
) -> tuple[InboundRequest, InboundRequest]:
    head = (b"content-type", kind)
    sent = a_request(headers=(head, (b"content-encoding", pack[1])), body=PACKS[pack](body))
    return a_request(headers=(head,), body=body), sent


@given(bodies, st.sampled_from(TYPES), packs)
def test_it_is_read_like_the_plain_one(body: bytes, kind: bytes, pack: tuple[str, bytes]) -> None:
    plain, sent = both(body, kind, pack)
    expected, found = PROVIDER.read(plain), PROVIDER.read(sent)
    assert found == msgspec.structs.replace(expected, flags=(PACKED, *expected.flags))
    assert opened(sent) == plain


@given(bodies, st.sampled_from(TYPES), packs)
def test_redacted_it_is_stored_as_the_plain_one(
    body: bytes, kind: bytes, pack: tuple[str, bytes]
) -> None:
    redact, kept = a_redact("payload.mail"), {}
    for request in both(body, kind, pack):
        headers = tuple((n.decode(), v.decode()) for n, v in request.headers)
        flags = PROVIDER.read(request).flags
        stored = a_delivery(headers=headers, body=request.body, flags=flags)
        assert plain_body(stored) == body
        left = taken_out(stored, redact, PROVIDER, 0).delivery
        kept[len(kept)] = (left.headers, left.body, left.flags)
        assert unpacked(left) is left
    assert kept[0] == kept[1]


@given(st.binary(min_size=1, max_size=300), packs, st.data())
def test_what_is_cut_or_changed_is_found_odd_or_is_the_same(
    body: bytes, pack: tuple[str, bytes], data: st.DataObject
) -> None:
    assume(pack[0] in ("gzip", "zlib"))  # the others have no sum over all of it
    packed = PACKS[pack](body)
    cut = data.draw(st.integers(1, len(packed) - 1))
    for broken in (packed[:cut], packed + b"more"):
        with pytest.raises(OddBodyError):
            opened(msgspec.structs.replace(both(body, TYPES[2], pack)[1], body=broken))


def test_a_stored_body_is_unpacked_once_to_know_its_size() -> None:
    body = gzip.compress(bytes(5_000), mtime=0)
    headers = (("content-encoding", "gzip"),)
    stored = a_delivery(id="dlv_once", headers=headers, body=body, flags=(PACKED,))
    assert body_size(stored) == 5_000
    assert body_size(msgspec.structs.replace(stored, body=b"no gzip" + body[-8:])) == 5_000
    known = msgspec.structs.replace(stored, id="dlv_known", body=b"no gzip")
    assert (body_size(known, bytes(70)), body_size(known)) == (70, 70)


def test_what_unpacked_to_too_much_when_it_came_is_not_read_later() -> None:
    sent = gzip.compress(b'{"kind": "a"}')
    stored = a_delivery(headers=(("content-encoding", "gzip"),), body=sent, state="too_complex")
    assert PROVIDER.read_stored(stored).state == "too_complex"


@given(st.integers(1, 64 * 1024), packs)
def test_no_more_is_unpacked_than_asked_for(most: int, pack: tuple[str, bytes]) -> None:
    assume(pack[0] != "members")
    packed, got = PACKS[pack](bytes(TIMES_MAX * 64 * 1024)), list[int]()
    each = map(len, pieces(packed, pack[1].lower(), most))
    with pytest.raises(OddBodyError, match="over"):
        got.extend(each)
    assert sum(got) <= most
    assert max(got, default=0) <= STEP
