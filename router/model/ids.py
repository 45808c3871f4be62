"""Ids that sort by time: a prefix and a ULID, from a clock and randomness that are arguments."""

import random
from typing import Literal

DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in DIGITS for b in DIGITS]
_COUNT_MAX = 2**20 - 1

Prefix = Literal["dlv", "evt", "job", "rpl", "aud", "ers"]


class Ids:
    """
    Makes ids like `dlv_…` and `job_…`: 48 bits of milliseconds, 80 random bits.

    The bits are drawn anew for each millisecond, and counted up within it: so far apart that no
    other process, nor this one when its clock goes back, comes to the same.
    """

    def __init__(self, rng: random.Random) -> None:
        self._bits = rng.getrandbits
        self._at = -1
        self._count = 0  # the last 20 bits
        self._first = ""  # all digits before those

    def new(self, prefix: Prefix, now_ms: int) -> str:
        """A new id of the millisecond `now_ms`."""
        if now_ms == self._at and self._count < _COUNT_MAX:
            self._count += 1
        else:
            self._at, self._count = now_ms, self._bits(20)
            self._first = digits(now_ms, 5) + digits(self._bits(60), 6)
        return f"{prefix}_{self._first}{_PAIRS[self._count >> 10]}{_PAIRS[self._count & 1023]}"


def earliest(prefix: Prefix, at_ms: int) -> str:
    """The text that no id of the millisecond `at_ms`, or of a later one, sorts before."""
    return f"{prefix}_{digits(at_ms, 5)}"


def digits(number: int, pairs: int) -> str:
    """`pairs` pairs of base-32 digits, most significant first."""
    return "".join([_PAIRS[number >> 10 * i & 1023] for i in range(pairs - 1, -1, -1)])
