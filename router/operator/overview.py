"""The overview: what came, failed and waits, and what needs a person; nothing is scanned for it."""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from router.model.activity import (
    EVER,
    HOUR_S,
    MINUTE_S,
    QUARTER_S,
    ActivityCount,
    ActivityKind,
)
from router.model.settings import DAY_MS, Retention
from router.model.target import TargetRow
from router.operator import attention
from router.operator import overview_answer as answer
from router.operator.answers import ReloadState
from router.operator.node_rows import NodeRow
from router.operator.overview_answer import Chart, Sums
from router.rules.live import LiveRef
from router.rules.ruleset import Ruleset
from router.store.reads import StoreReads
from router.store.values import Selector

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


ROWS_MAX = 100
"""Endpoints, and targets, that are listed."""
NO_ENDPOINT = "-"
GROWTH_MIN_MS = 3_600_000
"""Over a shorter time than this nobody can say how fast a store grows."""


class ServerNow(NamedTuple):
    """What only a server knows: its last reload, silent endpoints, its hold, its clock."""

    reload: ReloadState = ReloadState()
    silent: Collection[str] = ()
    held: bool = False
    clock: Iterable[answer.Attention] = ()


async def overview(
    store: StoreReads,
    live: LiveRef,
    targets: Sequence[TargetRow],
    nodes: tuple[NodeRow, ...],
    server: ServerNow,
    now: int,
) -> answer.Overview:
    """Everything at one glance, as of `now`. Raises StoreUnavailable."""
    ruleset = live.current.ruleset
    activity = await Activity.read(store, now)
    endpoints = EndpointRows(activity, ruleset, server.silent)
    shown = endpoints.busiest()
    called = foremost_targets(activity, targets)
    await activity.read_hours(store, {*shown, *(target.name for target in called)})
    hour, day = activity.charts()
    dead = await dead_letters(store, targets)
    fill = store_fill(await store.size(), ruleset.server.retention, activity.sizes, now)
    rules = await rules_in_force(store, live, server.reload)
    return answer.Overview(
        at=now,
        attention=(
            *attention.of_hold(held=server.held),
            *server.clock,
            *attention.of_rules(rules),
            *attention.of_secrets(live.current.ruleset.unverifiable(now)),
            *attention.of_store(fill, now),
            *attention.of_targets(targets, now),
            *attention.of_dead(dead),
            *attention.of_nodes(nodes),
            *attention.of_endpoints(endpoints.doubtful()),
            *attention.of_findings(rules.findings),
        ),
        hour=hour,
        day=day,
        endpoints=tuple(map(endpoints.row, shown)),
        targets=tuple([target_activity(activity, target) for target in called]),
        refusals=refused_sums(activity),
        waiting=waiting_work(targets),
        dead=dead,
        nodes=nodes,
        store=fill,
        rules=rules,
    )


class EndpointRows:
    """The endpoints of the file, and others that something came to."""

    def __init__(self, activity: Activity, ruleset: Ruleset, silent: Collection[str]) -> None:
        self._activity, self._endpoints, self._silent = activity, ruleset.endpoints, silent

    def busiest(self) -> list[str]:
        """Their names, those first that something came to; no more than are listed."""
        activity = self._activity

        def quiet(name: str) -> tuple[int, int, str]:
            came = activity.sums("delivery", name).day + activity.sums("refusal", name).day
            return -came, -activity.last_delivery.get(name, 0), name

        names = {*self._endpoints, *activity.names("delivery", "refusal")} - {NO_ENDPOINT}
        return sorted(names, key=quiet)[:ROWS_MAX]

    def doubtful(self) -> Iterator[answer.EndpointActivity]:
        """Those that refused something, or that nothing comes to any more."""
        return map(self.row, sorted({*self._activity.names("refusal"), *self._silent}))

    def row(self, name: str) -> answer.EndpointActivity:
        """What came to one."""
        endpoint, activity = self._endpoints.get(name), self._activity
        return answer.EndpointActivity(
            name=name,
            provider=endpoint.shown_provider if endpoint else None,
            deliveries=activity.sums("delivery", name),
            refused=activity.sums("refusal", name),
            hourly=activity.hourly("delivery", name),
            hourly_refused=activity.hourly("refusal", name),
            last_at=activity.last_delivery.get(name),
            silent=name in self._silent,
        )


def foremost_targets(activity: Activity, targets: Iterable[TargetRow]) -> list[TargetRow]:
    """Those in trouble, then the busiest; no more than are listed."""

    def fine(row: TargetRow) -> tuple[bool, int, str]:
        return row.state == "healthy", -activity.sums("attempt", row.name, RAN).day, row.name

    return sorted(targets, key=fine)[:ROWS_MAX]


def target_activity(activity: Activity, target: TargetRow) -> answer.TargetActivity:
    """What was called, and how that went."""
    name = target.name
    mean, longest = activity.took(name)
    return answer.TargetActivity(
        name=name,
        state=target.state,
        attempts=activity.sums("attempt", name, RAN),
        failed=activity.sums("attempt", name, FAILED),
        dead=activity.sums("attempt", name, DEAD),
        hourly=activity.hourly("attempt", name, RAN),
        hourly_failed=activity.hourly("attempt", name, FAILED),
        mean_ms=mean,
        max_ms=longest,
        waiting=target.queued,
        standing_dead=target.dead,
        due_at=target.due_at,
    )


def refused_sums(activity: Activity) -> tuple[answer.RefusedSums, ...]:
    """By endpoint and reason, the most frequent of the day first."""
    found = [
        answer.RefusedSums(
            None if name == NO_ENDPOINT else name,
            reason,
            activity.sums("refusal", name, (reason,)),
        )
        for name in activity.names("refusal")
        for reason in activity.details("refusal", name)
    ]
    found.sort(key=lambda row: (-row.refused.day, row.endpoint or "", row.reason))
    return tuple(found[:ROWS_MAX])


def waiting_work(targets: Sequence[TargetRow]) -> answer.WaitingWork:
    """All jobs that have not ended."""
    states = {
        state: sum(getattr(target, state) for target in targets)
        for state in ("available", "waiting", "retryable", "running")
    }
    due = [(one.due_at, one.name) for one in targets if one.due_at is not None]
    return answer.WaitingWork(states, *min(due, default=(None, None)))


async def dead_letters(store: StoreReads, targets: Iterable[TargetRow]) -> answer.DeadLetters:
    """How many, and the one of the newest delivery."""
    count = sum(target.dead for target in targets)
    newest = await store.jobs(Selector(state="dead", limit=1)) if count else ()
    if not newest:
        return answer.DeadLetters(count, None, None)
    return answer.DeadLetters(count, newest[0].id, newest[0].ended_at)


def store_fill(
    held: int, retention: Retention, sizes: Sequence[tuple[int, int]], now: int
) -> answer.StoreFill:
    """How full the store is; of its sizes within the last day, when it will be full."""
    limit = retention.refuse_at
    grows, full_at = None, None
    if sizes and now - sizes[0][0] >= GROWTH_MIN_MS:
        begun, before = sizes[0]
        grows = (held - before) * DAY_MS // (now - begun)
        if held >= limit:
            full_at = now
        elif grows > 0:
            full_at = now + (limit - held) * DAY_MS // grows
    percent = 100 * held // max(retention.max_size, 1)
    return answer.StoreFill(held, retention.max_size, percent, grows, full_at)


async def rules_in_force(
    store: StoreReads, live: LiveRef, reload: ReloadState
) -> answer.RulesInForce:
    """Which rules decide, since when, and whether a newer file was refused."""
    ruleset = live.current.ruleset
    newest = await store.in_force()
    at = reload.succeeded_at or None
    if newest is not None and newest.generation == ruleset.generation:
        at = newest.at
    error = reload.error or reload.unread
    return answer.RulesInForce(
        ruleset.generation,
        len(ruleset.rules),
        at,
        error,
        reload.at if error else None,
        len(live.current.findings),
    )
