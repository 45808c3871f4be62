"""What the store counted by spans of time, made into charts and sums."""

from collections.abc import Collection, Container, Iterable

from router.model.activity import (
    EVER,
    HOUR_S,
    MINUTE_S,
    QUARTER_S,
    ActivityCount,
    ActivityKind,
)
from router.operator.overview_answer import Chart, Sums
from router.store.reads import StoreReads

MINUTES, QUARTERS, HOURS = 60, 96, 24

DEAD = frozenset({"dead"})
FAILED = DEAD | {"failed"}
"""Outcomes of attempts that failed."""
RAN = FAILED | {"succeeded", "interrupted"}
"""Outcomes of attempts that called something."""

Details = Container[str] | None
"""Some of the ways in which it happened; None: all of them."""


class Activity:
    """
    What was counted by minutes of the last hour, by quarters of an hour of the last day, and ever,
    as of `now`, Unix milliseconds.
    """

    def __init__(self, now: int) -> None:
        self._hour, self._day = (
            _SpanSums(MINUTE_S, MINUTES, now),
            _SpanSums(QUARTER_S, QUARTERS, now),
        )
        self._by_hour: dict[tuple[str, str], list[ActivityCount]] = {}
        self.sizes: list[tuple[int, int]] = []
        """How many bytes the store held at the beginning of quarters, the oldest first."""
        self.last_delivery: dict[str, int] = {}
        """About when the last delivery of an endpoint came."""

    @classmethod
    async def read(cls, store: StoreReads, now: int) -> "Activity":
        """All but the hours of each name. Raises StoreUnavailable."""
        activity = cls(now)
        for window in (activity._hour, activity._day):
            window.spans = await store.activity(window.span_s, window.begins)
            window.names = _named(await store.activity_by_name(window.span_s, window.begins))
        activity.sizes = [(c.at, c.most) for c in activity._day.spans if c.kind == "store"]
        ever = await store.activity_by_name(EVER, 0)
        activity.last_delivery = {count.name: count.most for count in ever}
        return activity

    async def read_hours(self, store: StoreReads, names: Collection[str]) -> None:
        """The hours of these names too. Raises StoreUnavailable."""
        self._by_hour = _named(await store.activity_by_hour(self._day.begins, names))

    def charts(self) -> tuple[Chart, Chart]:
        """Of the last hour, and of the last day."""
        return self._hour.chart(), self._day.chart()

    def names(self, *kinds: ActivityKind) -> frozenset[str]:
        """All that something of these kinds was counted of."""
        return frozenset(name for kind, name in self._day.names if kind in kinds)

    def sums(self, kind: ActivityKind, name: str, details: Details = None) -> Sums:
        """How often something of this kind happened to that name."""
        hour, day = (window.names.get((kind, name), ()) for window in (self._hour, self._day))
        return Sums(_sum(hour, details), _sum(day, details))

    def details(self, kind: ActivityKind, name: str) -> tuple[str, ...]:
        """How it happened within the last day."""
        return tuple(count.detail for count in self._day.names.get((kind, name), ()))

    def hourly(self, kind: ActivityKind, name: str, details: Details = None) -> tuple[int, ...]:
        """How often within each of the last 24 hours, the oldest first."""
        counts = self._by_hour.get((kind, name), ())
        return _in_place(counts, details, self._day.begins, HOUR_S, HOURS)

    def took(self, name: str) -> tuple[int | None, int | None]:
        """How long attempts of a target took in the last hour: on average, and the longest."""
        ran = [one for one in self._hour.names.get(("attempt", name), ()) if one.detail in RAN]
        if not (count := _sum(ran, None)):
            return None, None
        return sum(one.total for one in ran) // count, max(one.most for one in ran)


class _SpanSums:
    """So many spans of time, up to the one that is `now`: all names together, and by name."""

    def __init__(self, span_s: int, number: int, now: int) -> None:
        self.span_s, self._number = span_s, number
        self.begins = now - now % (span_s * 1000) - (number - 1) * span_s * 1000
        self.spans: Iterable[ActivityCount] = ()
        self.names: dict[tuple[str, str], list[ActivityCount]] = {}

    def chart(self) -> Chart:
        return Chart(
            begins_at=self.begins,
            step_s=self.span_s,
            deliveries=self._bars("delivery"),
            refused=self._bars("refusal"),
            failed=self._bars("attempt", FAILED),
            dead=self._bars("attempt", DEAD),
        )

    def _bars(self, kind: ActivityKind, details: Details = None) -> tuple[int, ...]:
        counts = [count for count in self.spans if count.kind == kind]
        return _in_place(counts, details, self.begins, self.span_s, self._number)


def _named(counts: Iterable[ActivityCount]) -> dict[tuple[str, str], list[ActivityCount]]:
    found: dict[tuple[str, str], list[ActivityCount]] = {}
    for count in counts:
        found.setdefault((count.kind, count.name), []).append(count)
    return found


def _in_place(
    counts: Iterable[ActivityCount], details: Details, begins: int, span_s: int, number: int
) -> tuple[int, ...]:
    """How often in each span; what a clock ahead has counted happened by now."""
    spans = [0] * number
    for count in counts:
        if details is None or count.detail in details:
            spans[min((count.at - begins) // (span_s * 1000), number - 1)] += count.count
    return tuple(spans)


def _sum(counts: Iterable[ActivityCount], details: Details) -> int:
    return sum(one.count for one in counts if details is None or one.detail in details)
