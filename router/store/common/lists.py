"""What lists have in common, whatever store they are read from."""

from collections.abc import Iterator, Sequence
from typing import Any

from router.model.operations import ActionJobs, Planned
from router.store.common.columns import decode_events
from router.store.values import EventEntry

ROWS = 200
BYTES = 8 * 1024 * 1024
"""Bodies in a page of whole deliveries; one larger body is a page by itself."""


def events_in(row: Sequence[Any], name: str | None) -> Iterator[EventEntry]:
    """The events of any or this name; a delivery's events are the last of its row."""
    return (event for event in decode_events(row[-1]) if name in (None, event.name))


PLANNED_PARTS = (
    "SELECT rule, action, target, count(*) FROM chosen GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3"
)
PLANNED_SPAN = "SELECT count(DISTINCT delivery), min(received_at), max(received_at) FROM chosen"
"""Of `chosen` jobs: rule, action, target, delivery, received_at."""


def to_plan(
    parts: Sequence[Sequence[Any]], span: Sequence[Any], passed: int, earlier: str | None
) -> Planned:
    """A plan from those two, and what is passed over."""
    deliveries, first_at, last_at = span
    return Planned(
        deliveries,
        sum(part[3] for part in parts),
        parts=tuple([ActionJobs(*part) for part in parts]),
        first_at=first_at,
        last_at=last_at,
        passed=passed,
        earlier=earlier,
    )
