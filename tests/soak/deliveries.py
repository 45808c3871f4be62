"""What is sent in a soak, and what each delivery must come to. Pure: a number says all of it."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from tests.acceptance.senders import LANES, Sender, code, delivery_id, mail, shop

Kind = Literal["code", "large", "shop", "mail", "gone", "unmatched", "forged"]
SHARES: Mapping[Kind, int] = {
    "code": 52,
    "large": 3,
    "shop": 20,
    "mail": 10,
    "gone": 3,
    "unmatched": 6,
    "forged": 6,
}
LARGEST = 400 * 1024
EVENTS = 5
"""In a batch."""


class BatchSender(Sender):
    """Sends several events at once."""

    def body(self, number: int, size: int = 0) -> bytes:
        each = (number * EVENTS + index for index in range(EVENTS))
        mark = {"email": "a@example.com", "timestamp": 1_700_000_000, "event": self.event}
        return json.dumps(
            [{**mark, "sg_event_id": delivery_id(one), "number": one} for one in each]
        ).encode()


@dataclass(frozen=True)
class Parcel:
    """The delivery of this number."""

    number: int

    @cached_property
    def drawn(self) -> random.Random:
        return random.Random(self.number)

    @cached_property
    def kind(self) -> Kind:
        return self.drawn.choices(list(SHARES), list(SHARES.values()))[0]

    @cached_property
    def size(self) -> int:
        """About so many bytes."""
        return self.drawn.randrange(LARGEST) if self.kind == "large" else 500

    @cached_property
    def repeated(self) -> bool:
        """Its sender sends it once more, although it was acknowledged."""
        return random.Random(-self.number).random() < 0.1

    def sender(self) -> Sender:
        """Of a forged one, who does not know the secret."""
        if self.kind == "mail":
            return BatchSender(**vars(mail()))
        if self.kind == "shop":
            return shop()
        events = {"gone": "release", "unmatched": "watch"}
        sender = replace(code(), event=events.get(self.kind, "push"))
        return replace(sender, key=b"another secret") if self.kind == "forged" else sender

    @property
    def wanted(self) -> tuple[str, ...]:
        """`KIND/NUMBER` of each call, note of a script and note of a plugin that must be done."""
        number, lane = self.number, self.number % LANES
        if self.kind == "mail":
            return tuple(f"mail/{number * EVENTS + index}" for index in range(EVENTS))
        if self.kind == "shop":
            return (f"shop/{number}",)
        if self.kind not in ("code", "large"):
            return ()
        more = {1: (f"python/{number}", f"then/{number}"), 2: (f"shell/{number}",)}
        return (f"code/{number}", *more.get(lane, ()))
