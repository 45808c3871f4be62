"""One row of the corpus: what is sent, and the one thing that is expected of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.faults.wire.link import Steps
from tests.faults.wire.message import Message, Place
from tests.faults.wire.site import MAIN, now_ms

REFUSED = -1
"""Stands for what the provider's definition refuses with: 401, or 403 for email."""

READ = "read"
"""The state of a delivery whose body was understood, whether or not a rule matched."""


@dataclass
class Ask:
    """What a case builds from; it remembers each body it was asked to sign."""

    place: Place
    number: int
    bodies: list[bytes] = field(default_factory=list)

    def body(self) -> bytes:
        return self.place.body(self.number)

    def signed(self, body: bytes | None = None, *, later_s: int = 0, **more: Any) -> Message:
        """Validly signed; the believable body if none is given."""
        body = self.body() if body is None else body
        self.bodies.append(body)
        return self.place.signed(body, self.number, now_ms() + 1000 * later_s, **more)

    def forged(self, body: bytes | None = None) -> Message:
        """Signed with a key that opens nothing."""
        body = self.body() if body is None else body
        return self.place.signed(body, self.number, now_ms(), key=self.place.other)


Sent = Message | bytes | Steps
Make = Callable[[Ask], Sent]


@dataclass(frozen=True)
class Case:
    """
    `statuses` of the answers, in order; the connection stays open.

    `state`: how the delivery is stored; None: nothing is. `within` seconds.
    `words`: each answer's status, where that is the point.
    `why`: where the expected answer is not the table's of old, the reason.
    """

    number: int
    name: str
    make: Make
    statuses: tuple[int, ...]
    state: str | None = None
    places: tuple[str, ...] = MAIN
    within: float = 1.0
    words: tuple[str, ...] = ()
    why: str = ""


def taken(number: int, name: str, make: Make, state: str = READ, **more: Any) -> Case:
    """Answered 200 and stored."""
    return Case(number, name, make, (200,), state=state, **more)


def unproved(number: int, name: str, make: Make, **more: Any) -> Case:
    """Refused by the judge; the connection stays, nothing is stored."""
    return Case(number, name, make, (REFUSED,), **more)
