"""
How much structure a JSON body holds, counted before anything decodes it.

A decoder holds the interpreter for as long as the body wants; these counts run in C over the
bytes and cost a few milliseconds for the largest body that is accepted.
"""

from array import array
from itertools import accumulate
from typing import Literal, NamedTuple

STRUCTURE_MAX = 500_000
_PIECE = 1024 * 1024
DEPTH_MAX = 64

_STRUCTURAL = b",{["
_KEPT = b'"[]{}'
_DROPPED = bytes(byte for byte in range(256) if byte not in _KEPT)
# 255 is -1 once it is read as a signed byte.
_STEPS = bytes(1 if byte in b"[{" else 255 if byte in b"]}" else 0 for byte in range(256))


_QUOTES_MAX = 4 * STRUCTURE_MAX + 4
_BRACKETS_MAX = 2 * STRUCTURE_MAX
"""No JSON with so little structure holds more; so the walk over a hostile body is bounded too."""


class MeasuredBody(NamedTuple):
    """A body and why it must not be decoded, found beforehand: counting a large one takes long."""

    body: bytes
    reason: str | None
    state: Literal["unparsed", "too_complex"] = "too_complex"


def weigh(body: bytes) -> MeasuredBody:
    """As `too_complex`, with the body that was looked at."""
    return MeasuredBody(body, too_complex(body))


def too_complex(body: bytes) -> str | None:
    """Why the body must not be decoded, or None."""
    # A body with fewer bytes cannot hold that much structure.
    if len(body) > STRUCTURE_MAX and _structure(body) > STRUCTURE_MAX:
        return f"over {STRUCTURE_MAX:,} structure characters"
    brackets, most = 0, DEPTH_MAX + 1
    for at in range(0, len(body), _PIECE):
        piece = body[at : at + _PIECE]
        # Few are found at memory speed, and of many no more are sought than matter.
        arrays, objects = piece.replace(b"[", b"", most), piece.replace(b"{", b"", most)
        brackets += 2 * len(piece) - len(arrays) - len(objects)
        if brackets > DEPTH_MAX:  # the beginning of a large body mostly tells
            return f"nested deeper than {DEPTH_MAX}" if depth(body) > DEPTH_MAX else None
    return None


def indents(body: bytes) -> int:
    """About how many steps of indentation JSON would have, a value a line; never far too few."""
    return 2 * _structure(body) * depth(body)


def _structure(body: bytes) -> int:
    """By pieces: taking the characters out of a whole body would hold it twice."""
    pieces = (body[at : at + _PIECE] for at in range(0, len(body), _PIECE))
    return len(body) - sum([len(piece.translate(None, _STRUCTURAL)) for piece in pieces])


def depth(body: bytes) -> int:
    """
    How deep arrays and objects nest; brackets within texts do not count.

    The bytes are reduced step by step, each step in C: escapes out, then everything but quotes
    and brackets, then texts that hold no bracket, then texts that do. What cannot be JSON for
    its number of quotes or brackets has depth 0: the decoder refuses it at once.
    """
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    bare = body.translate(None, _DROPPED)
    if bare.count(b'"') > _QUOTES_MAX:
        return 0
    # Taking out two neighbouring quotes changes for no other byte whether it is within a text.
    outside = b"".join(bare.replace(b'""', b"").split(b'"')[::2])
    if len(outside) > _BRACKETS_MAX:
        return 0
    return max(accumulate(array("b", outside.translate(_STEPS))), default=0)
