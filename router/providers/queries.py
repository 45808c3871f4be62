"""Query strings, read with bounded work."""

import re
from urllib.parse import unquote_to_bytes

from router.model.delivery import REMOVED

PARAMETERS_MAX = 100
_UNESCAPED = re.compile(rb"[A-Za-z0-9_.~-]*")


def parameters(query: bytes) -> list[tuple[bytes, bytes]]:
    """Names and values of a query string, decoded; none of one with too many."""
    if query.count(b"&") >= PARAMETERS_MAX:
        return []
    pairs = (piece.partition(b"=") for piece in query.split(b"&") if piece)
    return [(_decoded(name), _decoded(value)) for name, _, value in pairs]


def without(query: bytes, name: bytes, mark: str = REMOVED) -> bytes:
    """The query string with this in place of every value of this parameter."""
    pieces = query.split(b"&")
    removed = mark.encode("ascii")
    return b"&".join(
        piece.partition(b"=")[0] + b"=" + removed
        if _decoded(piece.partition(b"=")[0]) == name
        else piece
        for piece in pieces
    )


def _decoded(text: bytes) -> bytes:
    return text if _UNESCAPED.fullmatch(text) else unquote_to_bytes(text.replace(b"+", b" "))
