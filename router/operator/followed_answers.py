"""What who follows the deliveries is answered with."""

import msgspec

from router.model.delivery import Delivery
from router.operator.answers import EventRow


class FollowedDelivery(msgspec.Struct, frozen=True, rename={"body": "body_base64"}):
    """
    A delivery, whole, and `cursor`, the place behind it.

    `headers` are (lower-case name, value); credentials are `[removed]`.
    """

    cursor: str
    id: str
    endpoint: str
    provider: str
    received_at: int
    state: str
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    verified_by: str | None
    event_count: int
    events: tuple[EventRow, ...]
    flags: tuple[str, ...]
    replay_of: str | None

    def delivery(self) -> Delivery:
        """It as it is stored, without what is not told here."""
        return msgspec.convert({**msgspec.structs.asdict(self), "generation": ""}, Delivery)


class FollowedDeliveries(msgspec.Struct, frozen=True):
    """
    Deliveries after a place, in the order of the ledger. `cursor` is the place to go on from.

    `more`: ask again at once. `removed` deliveries of that stretch, of any endpoint, are gone;
    null: the store does not count them.
    `other`: the cursor is of another ledger, or of a later copy of this one.
    """

    deliveries: tuple[FollowedDelivery, ...]
    cursor: str
    more: bool
    removed: int | None
    other: bool
