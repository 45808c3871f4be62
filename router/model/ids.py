"""Ids that sort by time: a prefix and a ULID, from a clock and randomness that are arguments."""

import random
from typing import Literal

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

Prefix = Literal["dlv", "evt", "job"]


class Ids:
    """Makes `dlv_`, `evt_` and `job_` ids: 48 bits of milliseconds, 80 random bits."""

    def __init__(self, rng: random.Random) -> None:
        self._bits = rng.getrandbits

    def new(self, prefix: Prefix, now_ms: int) -> str:
        """A new id of the millisecond `now_ms`."""
        n = (now_ms << 80) | self._bits(80)
        pairs = _PAIRS
        return f"{prefix}_" + "".join([pairs[(n >> shift) & 1023] for shift in _SHIFTS])


_SHIFTS = tuple(range(120, -1, -10))
