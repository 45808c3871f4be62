"""Deliveries that several leased jobs are of: the rest of a batch need not read them anew."""

from collections.abc import Mapping

from router.model.delivery import Delivery

CACHED_BYTES = 4 * 1024 * 1024
"""Of bodies that are kept; the delivery that has been kept longest goes first."""
CACHED_MAX = 1024
"""Deliveries that are kept, however small their bodies are."""


class DeliveryCache:
    """
    Whole deliveries by id: what is stored of one changes only when it is redacted. What the disk
    has damaged is never kept.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Delivery] = {}
        self._bytes = 0

    def get(self, id_: str) -> Delivery | None:
        """The delivery, if it is kept."""
        return self._kept.get(id_)

    def forget(self, id_: str) -> None:
        """It is written anew."""
        if (gone := self._kept.pop(id_, None)) is not None:
            self._bytes -= len(gone.body)

    def keep(self, jobs: Mapping[int, int], deliveries: Mapping[int, Delivery]) -> None:
        """Keep those of these deliveries, by number, that more than one of the `jobs` is of."""
        for number, delivery in deliveries.items():
            if jobs[number] > 1 and not delivery.damaged and delivery.id not in self._kept:
                self._kept[delivery.id] = delivery
                self._bytes += len(delivery.body)
        while self._bytes > CACHED_BYTES or len(self._kept) > CACHED_MAX:
            oldest = self._kept.pop(next(iter(self._kept)))
            self._bytes -= len(oldest.body)
