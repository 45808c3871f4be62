"""Conditions of the router that become events of its own: each is told once when it begins."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from router.clock import Clock
from router.metrics import Metrics
from router.model.settings import DAY_MS
from router.model.target import TargetNow
from router.refusals import PROBE
from router.rules.live import LiveRef
from router.rules.own_events import REASON_MAX, timestamp
from router.store.protocol import Store

FACTS = "own/"

REFUSED_MIN = 20
WINDOW_MS = 5 * 60_000
EXPIRING_DAYS = (1, 7)
FILLING, ROOM_AGAIN = 0.80, 0.70
"""Shares of `max_size` at which filling begins and is over."""
DISK_FILLING, DISK_ROOM_AGAIN = 0.95, 0.92

Tell = Callable[[str, str, Mapping[str, Any]], Awaitable[bool]]
"""Tells an event by name, identity and payload; False: no rule wants it."""


class RememberedAlerts:
    """What has been told already, in the store, so that a restart tells nothing twice."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Any] | None = None

    async def of(self, name: str) -> Any:
        """What is kept under this name, None if nothing. Raises StoreUnavailable."""
        return (await self._all()).get(FACTS + name)

    async def names(self, prefix: str) -> list[str]:
        """The names kept that begin so."""
        whole = [n.removeprefix(FACTS) for n in await self._all()]
        return [name for name in whole if name.startswith(prefix)]

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


class Refusing:
    """
    `endpoint.refusing`: within five minutes an endpoint refused 20 requests or more, and more
    than it accepted. Over when that has not been so for five minutes.
    """

    def __init__(
        self, *, live: LiveRef, metrics: Metrics, clock: Clock, told: RememberedAlerts, tell: Tell
    ) -> None:
        self._live = live
        self._metrics = metrics
        self._clock = clock
        self._told = told
        self._tell = tell
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
        since = await self._told.of(fact)
        if refused.total() >= REFUSED_MIN and refused.total() > accepted:
            self._held[name] = now
            payload = _refusals(name, accepted, refused)
            if since is None and await self._tell(
                "endpoint.refusing", f"endpoint.{fact}/{now}", payload
            ):
                await self._told.keep(fact, now)
        elif since is not None and now - self._held.get(name, self._began) >= WINDOW_MS:
            await self._told.keep(fact, None)

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


def _refusals(name: str, accepted: int, refused: Counter[str]) -> dict[str, Any]:
    return {
        "endpoint": name,
        "refused": refused.total(),
        "accepted": accepted,
        "minutes": WINDOW_MS // 60_000,
        "reasons": dict(refused.most_common()),
        "main_reason": refused.most_common(1)[0][0],
    }


class Silences:
    """`endpoint.silent`: nothing came for longer than the endpoint's `expect_every`."""

    def __init__(
        self,
        *,
        live: LiveRef,
        silent: Callable[[], Mapping[str, Any]],
        told: RememberedAlerts,
        tell: Tell,
    ) -> None:
        self._live = live
        self._silent = silent
        self._told = told
        self._tell = tell

    async def step(self) -> None:
        """Tell of every silence that has not been told, and forget those that are over."""
        silent = self._silent()
        for name, known in silent.items():
            await self._look(name, known["last"], known["since"])
        for fact in await self._told.names("silent/"):
            if fact.removeprefix("silent/") not in silent:
                await self._told.keep(fact, None)

    async def _look(self, name: str, last: int | None, since: int) -> None:
        endpoint = self._live.current.ruleset.endpoints.get(name)
        begun, fact = since if last is None else last, f"silent/{name}"
        if endpoint is None or await self._told.of(fact) == begun:
            return
        payload = {
            "endpoint": name,
            "last": None if last is None else timestamp(last),
            "since": timestamp(since),
            "expect_every_s": (endpoint.expect_every or 0) // 1000,
        }
        if await self._tell("endpoint.silent", f"endpoint.{fact}/{begun}", payload):
            await self._told.keep(fact, begun)


class TargetAlerts:
    """
    `target.failing`: calls to a target failed too often, and stopped, told once until it is
    reached again; a probe that fails is no news. `target.paused`: by hand or by the router itself.
    """

    def __init__(
        self, *, now: Callable[[], Iterable[TargetNow]], told: RememberedAlerts, tell: Tell
    ) -> None:
        self._now = now
        self._told = told
        self._tell = tell

    async def step(self) -> None:
        """Look at every target."""
        for target in self._now():
            fact = f"target/{target.target}"
            kept = await self._told.of(fact)
            if target.state == "healthy" or target.pace is not None:
                await self._told.keep(fact, None)
            elif target.state == "paused" and kept != "paused":
                await self._say("target.paused", target, {"by": target.by}, fact)
            elif target.state == "failing" and kept not in ("failing", "open"):
                probe = target.next_probe
                until = {"until": None if probe is None else timestamp(probe)}
                await self._say("target.failing", target, until, fact)

    async def _say(self, event: str, target: TargetNow, more: Mapping[str, Any], fact: str) -> None:
        since = target.since or 0
        payload = {
            "target": target.target,
            "reason": target.reason[:REASON_MAX],
            "at": timestamp(since),
            **more,
        }
        if await self._tell(event, f"{event}/{target.target}/{since}", payload):
            await self._told.keep(fact, target.state)


class Expiring:
    """`secret.expiring`: seven days, and again one day, before a secret's `until`."""

    def __init__(self, *, live: LiveRef, clock: Clock, told: RememberedAlerts, tell: Tell) -> None:
        self._live = live
        self._clock = clock
        self._told = told
        self._tell = tell

    async def step(self) -> None:
        """Look at every secret that ends."""
        secrets = self._live.current.ruleset.secrets.values()
        ends = {secret.name: secret.until for secret in secrets if secret.until is not None}
        for name, until in ends.items():
            await self._look(name, until, until - self._clock.now())
        for fact in await self._told.names("expiring/"):
            if fact.removeprefix("expiring/") not in ends:
                await self._told.keep(fact, None)

    async def _look(self, name: str, until: int, left: int) -> None:
        stage = next((days for days in EXPIRING_DAYS if 0 < left <= days * DAY_MS), None)
        fact = f"expiring/{name}"
        known = await self._told.of(fact)
        if stage is None or (known and known[0] == until and known[1] <= stage):
            return
        days_left = -(-left // DAY_MS)
        payload = {"secret": name, "until": timestamp(until), "days_left": days_left}
        if await self._tell("secret.expiring", f"secret.{fact}/{until}/{stage}d", payload):
            await self._told.keep(fact, [until, stage])


class Filling:
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
        told: RememberedAlerts,
        tell: Tell,
    ) -> None:
        self._live = live
        self._store = store
        self._disk = disk
        self._clock = clock
        self._told = told
        self._tell = tell

    async def step(self) -> None:
        """Look at both sizes."""
        cap = self._live.current.ruleset.server.retention.max_size
        await self._look("max_size", await self._store.reads.size(), cap, (FILLING, ROOM_AGAIN))
        await self._look("disk", *self._disk(), (DISK_FILLING, DISK_ROOM_AGAIN))

    async def _look(self, cause: str, used: int, limit: int, bounds: tuple[float, float]) -> None:
        fact, begins, over = f"filling/{cause}", *bounds
        since = await self._told.of(fact)
        if used >= begins * limit:
            now = self._clock.now()
            payload = {
                "cause": cause,
                "percent": 100 * used // max(limit, 1),
                "bytes": used,
                "limit": limit,
            }
            if since is None and await self._tell("store.filling", f"store.{fact}/{now}", payload):
                await self._told.keep(fact, now)
        elif since is not None and used < over * limit:
            await self._told.keep(fact, None)
