"""Conditions of the router that become events of its own: one event when each begins."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from typing import Any, NamedTuple

from router.clock import Clock
from router.metrics import Metrics
from router.model.settings import DAY_MS
from router.model.target import TargetNow
from router.refusals import PROBE
from router.rules.live import LiveRef
from router.rules.own_events import REASON_MAX, timestamp
from router.store.protocol import FactStore, Store

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
    """Events that were sent are remembered in the store, so that a restart sends none twice."""

    def __init__(self, store: FactStore, send: Send) -> None:
        self._store, self._send = store, send
        self._known: dict[str, Any] | None = None

    async def of(self, name: str) -> Any:
        """What is kept under this name, None if nothing. Raises StoreUnavailable."""
        return (await self._all()).get(FACTS + name)

    async def send(
        self, fact: str, value: Any, event: str, identity: str, payload: Mapping[str, Any]
    ) -> None:
        """Send an event and keep `value` for it; nothing is kept if no rule wants it."""
        if await self._send(event, identity, payload):
            await self.keep(fact, value)

    async def forget_others(self, prefix: str, still: Container[str]) -> None:
        """Forget what is kept under this prefix for names that are not among these."""
        for fact in [n.removeprefix(FACTS) for n in await self._all()]:
            if fact.startswith(prefix) and fact.removeprefix(prefix) not in still:
                await self.keep(fact, None)

    async def keep(self, name: str, value: Any) -> None:
        """Keep it, or forget it (None), if that is a change."""
        known = await self._all()
        if known.get(FACTS + name) == value:
            return
        await self._store.remember({FACTS + name: value})
        if value is None:
            del known[FACTS + name]
        else:
            known[FACTS + name] = value

    async def _all(self) -> dict[str, Any]:
        if self._known is None:
            self._known = dict(await self._store.recall(FACTS))
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
        self._live = live
        self._metrics = metrics
        self._clock = clock
        self._alerts = alerts
        self._seen: dict[str, deque[_Counts]] = {}
        self._held: dict[str, int] = {}
        self._began = clock.ledger()

    async def step(self) -> None:
        """Look at every endpoint once."""
        for name in self._live.current.ruleset.addressed:
            await self._look(name)

    async def _look(self, name: str) -> None:
        now = self._clock.ledger()
        accepted, refused = self._lately(name, now)
        fact = f"refusing/{name}"
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
                identity = f"endpoint.{fact}/{now}"
                await self._alerts.send(fact, now, "endpoint.refusing", identity, payload)
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


class QuietEndpointAlerts:
    """`endpoint.silent`: nothing came for longer than the endpoint's `expect_every`."""

    def __init__(
        self,
        *,
        live: LiveRef,
        silent: Callable[[], Mapping[str, Any]],
        alerts: Alerts,
    ) -> None:
        self._live = live
        self._silent = silent
        self._alerts = alerts

    async def step(self) -> None:
        """Send an event of each endpoint that has fallen quiet; forget those that deliver again."""
        silent = self._silent()
        for name, known in silent.items():
            await self._look(name, known["last"], known["since"])
        await self._alerts.forget_others("silent/", silent)

    async def _look(self, name: str, last: int | None, since: int) -> None:
        endpoint = self._live.current.ruleset.endpoints.get(name)
        begun, fact = since if last is None else last, f"silent/{name}"
        if endpoint is None or await self._alerts.of(fact) == begun:
            return
        payload = {
            "endpoint": name,
            "last": None if last is None else timestamp(last),
            "since": timestamp(since),
            "expect_every_s": (endpoint.expect_every or 0) // 1000,
        }
        identity = f"endpoint.{fact}/{begun}"
        await self._alerts.send(fact, begun, "endpoint.silent", identity, payload)


class TargetAlerts:
    """
    `target.failing`: calls to a target failed too often, and stopped; sent once until it is
    reached again; a probe that fails is no news. `target.paused`: by hand or by the router itself.
    """

    def __init__(self, *, now: Callable[[], Iterable[TargetNow]], alerts: Alerts) -> None:
        self._now = now
        self._alerts = alerts

    async def step(self) -> None:
        """Look at every target."""
        for target in self._now():
            fact = f"target/{target.target}"
            kept = await self._alerts.of(fact)
            if target.state == "healthy" or target.pace is not None:
                await self._alerts.keep(fact, None)
            elif target.state == "paused" and kept != "paused":
                await self._send("target.paused", target, {"by": target.by}, fact)
            elif target.state == "failing" and kept not in ("failing", "open"):
                probe = target.next_probe
                until = {"until": None if probe is None else timestamp(probe)}
                await self._send("target.failing", target, until, fact)

    async def _send(
        self, event: str, target: TargetNow, more: Mapping[str, Any], fact: str
    ) -> None:
        since = target.since or 0
        payload = {
            "target": target.target,
            "reason": target.reason[:REASON_MAX],
            "at": timestamp(since),
            **more,
        }
        identity = f"{event}/{target.target}/{since}"
        await self._alerts.send(fact, target.state, event, identity, payload)


class SecretAlerts:
    """`secret.expiring`: seven days, and again one day, before a secret's `until`."""

    def __init__(self, *, live: LiveRef, clock: Clock, alerts: Alerts) -> None:
        self._live = live
        self._clock = clock
        self._alerts = alerts

    async def step(self) -> None:
        """Look at every secret that ends."""
        secrets = self._live.current.ruleset.secrets.values()
        ends = {secret.name: secret.until for secret in secrets if secret.until is not None}
        for name, until in ends.items():
            await self._look(name, until, until - self._clock.now())
        await self._alerts.forget_others("expiring/", ends)

    async def _look(self, name: str, until: int, left: int) -> None:
        stage = next((days for days in EXPIRING_DAYS if 0 < left <= days * DAY_MS), None)
        fact = f"expiring/{name}"
        known = await self._alerts.of(fact)
        if stage is None or (known and known[0] == until and known[1] <= stage):
            return
        days_left = -(-left // DAY_MS)
        payload = {"secret": name, "until": timestamp(until), "days_left": days_left}
        identity = f"secret.{fact}/{until}/{stage}d"
        await self._alerts.send(fact, [until, stage], "secret.expiring", identity, payload)


class StorageAlerts:
    """
    `store.filling`: the store has 80 % of its `max_size`, or the disk is full by 95 %. Over at
    70 % and 92 %. `disk` gives the bytes used and all bytes of the disk that the store is on.
    """

    def __init__(
        self,
        *,
        live: LiveRef,
        store: Store,
        disk: Callable[[], tuple[int, int]],
        clock: Clock,
        alerts: Alerts,
    ) -> None:
        self._live = live
        self._store = store
        self._disk = disk
        self._clock = clock
        self._alerts = alerts

    async def step(self) -> None:
        """Look at both sizes."""
        cap = self._live.current.ruleset.server.retention.max_size
        await self._look("max_size", await self._store.reads.size(), cap, (FILLING, ROOM_AGAIN))
        await self._look("disk", *self._disk(), (DISK_FILLING, DISK_ROOM_AGAIN))

    async def _look(self, cause: str, used: int, limit: int, bounds: tuple[float, float]) -> None:
        fact, begins, over = f"filling/{cause}", *bounds
        since = await self._alerts.of(fact)
        if used >= begins * limit:
            now = self._clock.now()
            payload = {
                "cause": cause,
                "percent": 100 * used // max(limit, 1),
                "bytes": used,
                "limit": limit,
            }
            if since is None:
                identity = f"store.{fact}/{now}"
                await self._alerts.send(fact, now, "store.filling", identity, payload)
        elif since is not None and used < over * limit:
            await self._alerts.keep(fact, None)
