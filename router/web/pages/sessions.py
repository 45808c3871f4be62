"""Who is logged in to the pages: random ids in memory, bounded, each with an end."""

import hashlib
import hmac
from collections.abc import Callable

import msgspec

from router.clock import Clock
from router.web.fair_share import oldest_of_largest

KEPT = 200
"""Sessions at once; one more ends the oldest of the token that has the most."""
LASTS_S = 12 * 3600.0
ID_BYTES = 32


class Session(msgspec.Struct, frozen=True):
    """
    A browser that has shown a token. `form` proves that a form was one of ours.

    The token is kept to be shown again at each request: one that is taken back ends its sessions.
    """

    token: bytes
    form: str
    ends_at: float

    def __repr__(self) -> str:
        return f"Session(ends_at={self.ends_at})"


class Sessions:
    """
    Sessions by the digest of their id, so that what is looked up is no secret.

    `random` gives so many unguessable bytes.
    """

    def __init__(self, *, clock: Clock, random: Callable[[int], bytes]) -> None:
        self._clock = clock
        self._random = random
        self._held: dict[bytes, Session] = {}
        self.form = random(ID_BYTES).hex()
        """What proves a form where nobody need log in."""

    def __len__(self) -> int:
        return len(self._held)

    def begin(self, token: bytes) -> str:
        """A new session; returns its id, which is kept nowhere here."""
        now = self._clock.monotonic()
        self._held = {digest: one for digest, one in self._held.items() if one.ends_at > now}
        if len(self._held) >= KEPT:
            del self._held[oldest_of_largest({d: one.token for d, one in self._held.items()})]
        id_ = self._random(ID_BYTES).hex()
        self._held[_digest(id_)] = Session(token, self._random(ID_BYTES).hex(), now + LASTS_S)
        return id_

    def of(self, id_: str | None) -> Session | None:
        """The session of this id, if it has not ended."""
        found = None if id_ is None else self._held.get(_digest(id_))
        if found is not None and found.ends_at <= self._clock.monotonic():
            self.end(id_)
            return None
        return found

    def end(self, id_: str | None) -> None:
        """Nobody is this any more."""
        if id_ is not None:
            self._held.pop(_digest(id_), None)


def is_ours(given: str, form: str) -> bool:
    """Whether a form carries the proof that it was made for this session."""
    return hmac.compare_digest(given.encode("utf-8"), form.encode("utf-8"))


def _digest(id_: str) -> bytes:
    return hashlib.sha256(id_.encode("utf-8")).digest()
