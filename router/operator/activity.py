"""What the store counted by spans of time, made into charts and sums."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator

from router.model.activity import EVER, MINUTE_S, QUARTER_S, ActivityCount, ActivityKind
from router.operator.overview_answer import Chart, Sums
from router.store.reads import StoreReads

HOUR_SPANS, DAY_SPANS = 60, 96
HOURS = 24

DEAD = frozenset({"dead"})
FAILED = DEAD | {"failed"}
"""Outcomes of attempts that failed."""
RAN = FAILED | {"succeeded", "interrupted"}
"""Outcomes of attempts that called something."""


class Activity:
    """
    What was counted by minutes of the last hour, by quarters of an hour of the last day, and ever,
    as of `now`, Unix milliseconds.
    """

    def __init__(
        self,
        minutes: Iterable[ActivityCount],
        quarters: Iterable[ActivityCount],
        ever: Iterable[ActivityCount],
        now: int,
    ) -> None:
        self._hour = _Window(minutes, MINUTE_S, HOUR_SPANS, now)
        self._day = _Window(quarters, QUARTER_S, DAY_SPANS, now)
        self.last_delivery = {one.name: one.most for one in ever}
        """About when the last delivery of an endpoint came."""

    @classmethod
    async def read(cls, store: StoreReads, now: int) -> "Activity":
        """What the store has of it. Raises StoreUnavailable."""
        return cls(
            await store.activity(MINUTE_S, _begins(MINUTE_S, HOUR_SPANS, now)),
            await store.activity(QUARTER_S, _begins(QUARTER_S, DAY_SPANS, now)),
            await store.activity(EVER, 0),
            now,
        )

    def charts(self) -> tuple[Chart, Chart]:
        """Of the last hour, and of the last day."""
        return self._hour.chart(), self._day.chart()

    def names(self, *kinds: ActivityKind) -> frozenset[str]:
        """All that something of these kinds was counted of."""
        return frozenset(name for kind in kinds for name in self._day.by_name.get(kind, ()))

    def sums(self, kind: ActivityKind, name: str, details: Container[str] | None = None) -> Sums:
        """How often something of this kind happened to that name; None: in whatever detail."""
        return Sums(*(_sum(w.of(kind, name, details)) for w in (self._hour, self._day)))

    def hourly(
        self, kind: ActivityKind, name: str, details: Container[str] | None = None
    ) -> tuple[int, ...]:
        """The same by hours of the last 24, the oldest first."""
        spans = self._day.spans(self._day.of(kind, name, details))
        step = DAY_SPANS // HOURS
        return tuple([sum(spans[i : i + step]) for i in range(0, DAY_SPANS, step)])

    def details(self, kind: ActivityKind, name: str) -> frozenset[str]:
        """How it happened within the last day."""
        return frozenset(count.detail for count in self._day.of(kind, name))

    def took(self, name: str) -> tuple[int | None, int | None]:
        """How long attempts of a target took in the last hour: on average, and the longest."""
        ran = self._hour.of("attempt", name, RAN)
        if not (count := _sum(ran)):
            return None, None
        return sum(one.total for one in ran) // count, max(one.most for one in ran)

    def sizes(self) -> list[tuple[int, int]]:
        """How many bytes the store held at the beginning of quarters, the oldest first."""
        return [(one.at, one.most) for one in self._day.of("store", "")]


class _Window:
    """Some spans of time, up to the one that is `now`."""

    def __init__(self, counts: Iterable[ActivityCount], step_s: int, number: int, now: int) -> None:
        self._step, self._number = step_s * 1000, number
        self._begins = _begins(step_s, number, now)
        self.by_name: dict[str, dict[str, list[ActivityCount]]] = defaultdict(dict)
        for count in counts:
            if count.at >= self._begins:
                self.by_name[count.kind].setdefault(count.name, []).append(count)

    def of(
        self, kind: ActivityKind, name: str, details: Container[str] | None = None
    ) -> list[ActivityCount]:
        counts = self.by_name.get(kind, {}).get(name, [])
        return [one for one in counts if details is None or one.detail in details]

    def spans(self, counts: Iterable[ActivityCount]) -> list[int]:
        spans = [0] * self._number
        for count in counts:
            # What another clock puts into the future happened by now.
            place = min((count.at - self._begins) // self._step, self._number - 1)
            spans[place] += count.count
        return spans

    def chart(self) -> Chart:
        return Chart(
            begins_at=self._begins,
            step_s=self._step // 1000,
            deliveries=tuple(self.spans(self._all("delivery"))),
            refused=tuple(self.spans(self._all("refusal"))),
            failed=tuple(self.spans(c for c in self._all("attempt") if c.detail in FAILED)),
            dead=tuple(self.spans(c for c in self._all("attempt") if c.detail in DEAD)),
        )

    def _all(self, kind: ActivityKind) -> Iterator[ActivityCount]:
        return (count for counts in self.by_name.get(kind, {}).values() for count in counts)


def _begins(step_s: int, number: int, now: int) -> int:
    """When the first of so many spans began, of which the last is now."""
    step = step_s * 1000
    return now - now % step - (number - 1) * step


def _sum(counts: Iterable[ActivityCount]) -> int:
    return sum(one.count for one in counts)
