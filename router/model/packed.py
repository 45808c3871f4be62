"""
Bodies that came packed (`Content-Encoding: gzip` or `deflate`): proved and stored as sent, and
unpacked whenever they are read, up to a size and step by step: a few bytes may say gigabytes.
"""

import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO

import msgspec

from router.model.delivery import Delivery, InboundRequest, as_request
from router.model.odd_body import OddBodyError
from router.model.settings import MIB

HEADER = b"content-encoding"
UNPACKED_MAX = 100 * MIB
TIMES_MAX = 8
"""An endpoint takes bodies that unpack to so many times its `body_max`, and never to more."""
STEP = MIB
"""What is unpacked at once, at most."""
PACKED = "packed"
"""The flag of a delivery whose body is stored as it came and was read unpacked."""
FED = 4096
"""Bytes that are looked at at once: what follows an end is copied, and may be all ends."""
_MEMBERS_MAX = 10_000
_SIZES_MAX = 4096
_sizes: dict[tuple[str, bytes], int] = {}
WINDOWS = {b"gzip": zlib.MAX_WBITS + 16, b"deflate": zlib.MAX_WBITS}
"""The codings that are known, with what zlib calls them."""


def coding(request: InboundRequest) -> bytes | None:
    """How the body of a request that the listener lets in is packed; None: not at all."""
    last = dict(request.headers).get(HEADER, b"").strip(b" \t").lower()
    return last if last in WINDOWS and request.body else None


def pieces(packed: bytes, coding: bytes, most: int) -> Iterator[bytes]:
    """
    The unpacked body, in pieces of at most `STEP` bytes, some of them empty.

    Raises:
        OddBodyError: it is more than `most` bytes, or not packed so.
    """
    view, at, size, members = memoryview(packed), 0, 0, 1
    window = WINDOWS[coding]
    if coding == b"deflate" and (packed[0] & 15 != 8 or int.from_bytes(packed[:2]) % 31):
        window = -window  # as some senders understand the word: without a head
    engine = zlib.decompressobj(window)
    while not engine.eof or at < len(view):
        if engine.eof:
            members += 1
            if coding != b"gzip":
                raise OddBodyError("unparsed", "something follows the packed body")
            engine = zlib.decompressobj(window)
        fed = view[at : at + FED]
        try:
            piece = engine.decompress(fed, STEP)
        except zlib.error:
            raise OddBodyError("unparsed", f"the body is no {coding.decode()}") from None
        at += len(fed) - len(engine.unused_data if engine.eof else engine.unconsumed_tail)
        if not fed and not piece and not engine.eof:
            raise OddBodyError("unparsed", f"the {coding.decode()} is cut short")
        size += len(piece)
        if size > most or members > _MEMBERS_MAX:
            raise OddBodyError("too_complex", f"unpacked over {most:,} bytes, or in many parts")
        yield piece


def opened(request: InboundRequest, most: int = UNPACKED_MAX) -> InboundRequest:
    """
    A request as it is read: its body unpacked, without the header that says how it was packed.

    Raises:
        OddBodyError: the body is more than `most` bytes then, or not packed so.
    """
    how = coding(request)
    return request if how is None else bare(request, _joined(pieces(request.body, how, most)))


def bare(request: InboundRequest, body: bytes) -> InboundRequest:
    """A request with this body, which is not packed."""
    headers = tuple([one for one in request.headers if one[0] != HEADER])
    return msgspec.structs.replace(request, headers=headers, body=body)


def plain_body(delivery: Delivery, most: int = UNPACKED_MAX) -> bytes:
    """
    The body of a stored delivery as it was read; of a packed one that is larger than `most`, more
    than so much of its beginning.
    """
    if PACKED not in delivery.flags:
        return delivery.body
    how = coding(as_request(delivery)) or b""
    try:
        return _joined(pieces(delivery.body, how, UNPACKED_MAX), most)
    except (OddBodyError, KeyError):  # damaged, or its header was redacted
        return delivery.body


def body_size(delivery: Delivery, known: bytes | None = None) -> int:
    """How many bytes the body is when it is read, as `known` or unpacked once: every job asks."""
    if PACKED not in delivery.flags:
        return len(delivery.body)
    key = delivery.id, delivery.body[-8:]  # a sum of it stands there
    if (size := _sizes.get(key)) is None:
        if len(_sizes) >= _SIZES_MAX:
            _sizes.clear()
        size = _sizes[key] = len(plain_body(delivery) if known is None else known)
    return size


def unpacked(delivery: Delivery) -> Delivery:
    """A delivery of which something is to be taken out: from then on its body is not packed."""
    if PACKED not in delivery.flags:
        return delivery
    return msgspec.structs.replace(
        delivery,
        headers=tuple([one for one in delivery.headers if one[0] != HEADER.decode()]),
        body=plain_body(delivery),
        flags=tuple([flag for flag in delivery.flags if flag != PACKED]),
    )


def _joined(parts: Iterable[bytes], enough: int = UNPACKED_MAX) -> bytes:
    gathered = BytesIO()  # hands out its own bytes: joining parts would hold the body twice
    for part in parts:
        gathered.write(part)
        if gathered.tell() > enough:
            break
    return gathered.getvalue()
