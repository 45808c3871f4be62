"""Ids that sort by time: a prefix and a ULID, from a clock and randomness that are arguments."""

import random
from typing import Literal

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

Prefix = Literal["dlv", "evt", "job", "rpl", "aud"]


class Ids:
    """Makes ids like `dlv_…` and `job_…`: 48 bits of milliseconds, 80 random bits."""

    def __init__(self, rng: random.Random) -> None:
        self._bits = rng.getrandbits
        self._at = -1
        self._time = ""

    def new(self, prefix: Prefix, now_ms: int) -> str:
        """A new id of the millisecond `now_ms`."""
        if now_ms != self._at:
            self._at, self._time = now_ms, _digits(now_ms, 5)
        n = self._bits(80)
        p = _PAIRS
        return (
            f"{prefix}_{self._time}{p[n >> 70]}{p[n >> 60 & 1023]}{p[n >> 50 & 1023]}"
            f"{p[n >> 40 & 1023]}{p[n >> 30 & 1023]}{p[n >> 20 & 1023]}{p[n >> 10 & 1023]}"
            f"{p[n & 1023]}"
        )


def earliest(prefix: Prefix, at_ms: int) -> str:
    """The text that no id of the millisecond `at_ms`, or of a later one, sorts before."""
    return f"{prefix}_{_digits(at_ms, 5)}"


def _digits(number: int, pairs: int) -> str:
    """`pairs` pairs of base-32 digits, most significant first."""
    return "".join([_PAIRS[number >> 10 * i & 1023] for i in range(pairs - 1, -1, -1)])
