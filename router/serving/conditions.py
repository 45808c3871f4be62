"""Conditions of the router that become events of its own: one event when each begins."""

import shutil
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from router.clock import Clock
from router.metrics import Metrics
from router.model.settings import DAY_MS
from router.model.store_address import SqliteFile
from router.model.target import TargetNow
from router.refusals import PROBE
from router.rules.live import LiveRef
from router.rules.own_events import REASON_MAX, timestamp
from router.serving.own_events import ConditionWatch, OwnEventWriter
from router.store.protocol import FactStore, Store
from router.store.values import CLAIM_MS, Claimed

FACTS = "own/"

REFUSED_MIN = 20
WINDOW_MS = 5 * 60_000
EXPIRING_DAYS = (1, 7)
FILLING, ROOM_AGAIN = 0.80, 0.70
"""Shares of `max_size` at which filling begins and is over."""
DISK_FILLING, DISK_ROOM_AGAIN = 0.95, 0.92

Send = Callable[[str, str, Mapping[str, Any]], Awaitable[bool]]
"""Stores an event by name, identity and payload; False: no rule wants it."""


class Alerts:
    """
    Events that were sent are remembered in the store under names that begin with `facts`, so that
    a restart sends none twice.
    """

    def __init__(self, store: FactStore, send: Send, facts: str = FACTS) -> None:
        self._store, self._send, self._facts = store, send, facts
        self._known: dict[str, Any] | None = None

    async def of(self, name: str) -> Any:
        """What is kept under this name, None if nothing. Raises StoreUnavailable."""
        return (await self._all()).get(self._facts + name)

    async def read_again(self) -> None:
        """Other nodes may have written since."""
        self._known = None

    async def send(
        self, fact: str, value: Any, event: str, identity: str, payload: Mapping[str, Any]
    ) -> None:
        """Send an event and keep `value` for it; nothing is kept if no rule wants it."""
        if await self._send(event, identity, payload):
            await self.keep(fact, value)

    async def forget_others(self, prefix: str, still: Container[str]) -> None:
        """Forget what is kept under this prefix for names that are not among these."""
        for fact in [n.removeprefix(self._facts) for n in await self._all()]:
            if fact.startswith(prefix) and fact.removeprefix(prefix) not in still:
                await self.keep(fact, None)

    async def keep(self, name: str, value: Any) -> None:
        """Keep it, or forget it (None), if that is a change."""
        known = await self._all()
        name = self._facts + name
        if known.get(name) == value:
            return
        await self._store.remember({name: value})
        if value is None:
            del known[name]
        else:
            known[name] = value

    async def _all(self) -> dict[str, Any]:
        if self._known is None:
            self._known = dict(await self._store.recall(self._facts))
        return self._known


class _Counts(NamedTuple):
    at: int
    accepted: int
    refused: Counter[str]


class RefusalAlerts:
    """
    `endpoint.refusing`: within five minutes an endpoint refused 20 requests or more, and more
    than it accepted. Over when that has not been so for five minutes.
    """

    def __init__(self, *, live: LiveRef, metrics: Metrics, clock: Clock, alerts: Alerts) -> None:
        self._live, self._metrics, self._clock, self._alerts = live, metrics, clock, alerts
        self._seen: dict[str, deque[_Counts]] = {}
        self._held: dict[str, int] = {}
        self._began = clock.ledger()

    async def step(self) -> None:
        """Look at every endpoint once."""
        for name in self._live.current.ruleset.addressed:
            now, fact, event = self._clock.ledger(), f"refusing/{name}", "endpoint.refusing"
            accepted, refused = self._lately(name, now)
            since = await self._alerts.of(fact)
            if refused.total() >= REFUSED_MIN and refused.total() > accepted:
                self._held[name] = now
                if since is None:
                    payload = {
                        "endpoint": name,
                        "refused": refused.total(),
                        "accepted": accepted,
                        "minutes": WINDOW_MS // 60_000,
                        "reasons": dict(refused.most_common()),
                        "main_reason": refused.most_common(1)[0][0],
                    }
                    await self._alerts.send(fact, now, event, f"{event}/{name}/{now}", payload)
            elif since is not None and now - self._held.get(name, self._began) >= WINDOW_MS:
                await self._alerts.keep(fact, None)

    def _lately(self, name: str, now: int) -> tuple[int, Counter[str]]:
        """What an endpoint accepted, and refused by reason, in the last five minutes."""
        reasons = Counter(self._metrics.refusals(name))
        del reasons[PROBE]
        counts = _Counts(now, self._metrics.received(name), reasons)
        seen = self._seen.setdefault(name, deque([_Counts(self._began, 0, Counter())]))
        seen.append(counts)
        while len(seen) > 2 and seen[1].at <= now - WINDOW_MS:
            seen.popleft()
        return counts.accepted - seen[0].accepted, counts.refused - seen[0].refused


async def look_at_endpoints(
    *, live: LiveRef, silent: Callable[[], Mapping[str, Any]], alerts: Alerts
) -> None:
    """
    `endpoint.silent`: nothing came for longer than the endpoint's `expect_every`. Those that
    deliver again are forgotten.
    """
    quiet = silent()
    for name, known in quiet.items():
        endpoint, fact = live.current.ruleset.endpoints.get(name), f"silent/{name}"
        last, since = known["last"], known["since"]
        begun = since if last is None else last
        if endpoint is None or await alerts.of(fact) == begun:
            continue
        payload = {
            "endpoint": name,
            "last": None if last is None else timestamp(last),
            "since": timestamp(since),
            "expect_every_s": (endpoint.expect_every or 0) // 1000,
        }
        event = "endpoint.silent"
        await alerts.send(fact, begun, event, f"{event}/{name}/{begun}", payload)
    await alerts.forget_others("silent/", quiet)


async def look_at_targets(*, now: Callable[[], Iterable[TargetNow]], alerts: Alerts) -> None:
    """
    `target.failing`: calls to a target failed too often, and stopped; sent once until it is
    reached again; a probe that fails is no news. `target.paused`: by hand or by the router itself.
    """
    for target in now():
        fact, event, more = f"target/{target.target}", f"target.{target.state}", dict[str, Any]()
        kept = await alerts.of(fact)
        if target.state == "healthy" or target.pace is not None:
            await alerts.keep(fact, None)
            continue
        if target.state == "paused" and kept != "paused":
            more["by"] = target.by
        elif target.state == "failing" and kept not in ("failing", "open"):
            more["until"] = None if target.next_probe is None else timestamp(target.next_probe)
        else:
            continue
        since = target.since or 0
        payload = {
            "target": target.target,
            "reason": target.reason[:REASON_MAX],
            "at": timestamp(since),
            **more,
        }
        identity = f"{event}/{target.target}/{since}"
        await alerts.send(fact, target.state, event, identity, payload)


async def look_at_secrets(*, live: LiveRef, clock: Clock, alerts: Alerts) -> None:
    """`secret.expiring`: seven days, and again one day, before a secret's `until`."""
    secrets = live.current.ruleset.secrets.values()
    ends = {secret.name: secret.until for secret in secrets if secret.until is not None}
    for name, until in ends.items():
        left = until - clock.now()
        stage = next((days for days in EXPIRING_DAYS if 0 < left <= days * DAY_MS), None)
        fact, event = f"expiring/{name}", "secret.expiring"
        known = await alerts.of(fact)
        if stage is None or (known and known[0] == until and known[1] <= stage):
            continue
        payload = {"secret": name, "until": timestamp(until), "days_left": -(-left // DAY_MS)}
        identity = f"{event}/{name}/{until}/{stage}d"
        await alerts.send(fact, [until, stage], event, identity, payload)
    await alerts.forget_others("expiring/", ends)


async def look_at_storage(
    *,
    live: LiveRef,
    store: Store,
    disk: Callable[[], tuple[int, int]],
    clock: Clock,
    alerts: Alerts,
) -> None:
    """
    `store.filling`: the store has 80 % of its `max_size`, or the disk is full by 95 %. Over at
    70 % and 92 %. `disk` gives the bytes used and all bytes of the disk that the store is on.
    """
    most = live.current.ruleset.server.retention.max_size
    for cause, (used, limit), begins, over in (
        ("max_size", (await store.reads.size(), most), FILLING, ROOM_AGAIN),
        ("disk", disk(), DISK_FILLING, DISK_ROOM_AGAIN),
    ):
        fact, event, now = f"filling/{cause}", "store.filling", clock.now()
        since = await alerts.of(fact)
        if since is None and used >= begins * limit:
            percent = 100 * used // max(limit, 1)
            payload = {"cause": cause, "percent": percent, "bytes": used, "limit": limit}
            await alerts.send(fact, now, event, f"{event}/{cause}/{now}", payload)
        elif since is not None and used < over * limit:
            await alerts.keep(fact, None)


class ThisNode(NamedTuple):
    """Its name, and what it does for all."""

    name: str
    claimed: Claimed


def watches(
    writer: OwnEventWriter,
    live: LiveRef,
    store: Store,
    *,
    silent: Callable[[], Mapping[str, Any]],
    targets: Callable[[], Iterable[TargetNow]],
    clock: Clock,
    metrics: Metrics,
    here: ThisNode,
) -> tuple[ConditionWatch, ...]:
    """
    Of endpoints, targets, secrets, the store and its disk. What is the same to all nodes of a
    shared store is looked at by one of them; refusals and targets by each, as it sees them.
    """
    alerts = Alerts(store, writer.send)
    own = Alerts(store, writer.send, f"own@{here.name}/") if store.shared else alerts
    address = live.current.ruleset.server.store

    def disk() -> tuple[int, int]:
        if not isinstance(address, SqliteFile):
            return 0, 1  # a database's disk is looked after where it is
        usage = shutil.disk_usage(Path(address.path).absolute().parent)
        return usage.total - usage.free, usage.total

    common: tuple[ConditionWatch, ...] = (
        partial(look_at_endpoints, live=live, silent=silent, alerts=alerts),
        partial(look_at_secrets, live=live, clock=clock, alerts=alerts),
        partial(look_at_storage, live=live, store=store, disk=disk, clock=clock, alerts=alerts),
    )
    if store.shared:
        common = (alerts.read_again, *common)
    return (
        RefusalAlerts(live=live, metrics=metrics, clock=clock, alerts=own).step,
        partial(look_at_targets, now=targets, alerts=own),
        *[partial(_by_one_node, here.claimed, watch) for watch in common],
    )


async def _by_one_node(claimed: Claimed, watch: ConditionWatch) -> None:
    if await claimed("own events", CLAIM_MS):
        await watch()
