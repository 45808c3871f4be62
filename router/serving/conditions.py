"""Conditions of the router that become events of its own: one event when each begins."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from router.clock import Clock
from router.metrics import Metrics
from router.model.settings import DAY_MS
from router.model.store_address import SqliteFile, StoreAddress
from router.model.target import TargetNow
from router.refusals import PROBE
from router.rules.live import LiveRef
from router.rules.own_events import REASON_MAX, Hide, timestamp, wants
from router.serving.alerts import Alerts
from router.serving.death_alerts import DeathAlerts
from router.serving.own_events import ConditionWatch, OwnEventWriter
from router.serving.spells import Lately, Spells
from router.store.protocol import Store
from router.store.reads import StoreReads
from router.store.values import CLAIM_MS, Claimed

REFUSED_MIN = 20
WINDOW_MS = 5 * 60_000
ERRED_MIN = 5
ERRING_MS = 60 * 60_000
COUNTED_MS = 60_000
"""How often what rules have counted is read: it is written six times as often."""
EXPIRING_DAYS = {"secret": (1, 7), "certificate": (1, 7, 21)}
_ENDING = {"secret": "expiring/", "certificate": "ending/"}
FILLING, ROOM_AGAIN = 0.80, 0.70
"""Shares of `max_size` at which filling begins and is over."""
DISK_FILLING, DISK_ROOM_AGAIN = 0.95, 0.92


class RefusalAlerts:
    """
    `endpoint.refusing`: within five minutes an endpoint refused 20 requests or more, and more
    than it accepted. Over when that has not been so for five minutes.
    """

    def __init__(self, *, live: LiveRef, metrics: Metrics, clock: Clock, alerts: Alerts) -> None:
        self._live, self._metrics, self._clock = live, metrics, clock
        self._lately = Lately(WINDOW_MS, clock.ledger())
        self._spells = Spells(
            "endpoint.refusing", "refusing", WINDOW_MS, clock=clock, alerts=alerts
        )

    async def step(self) -> None:
        """Look at every endpoint once."""
        for name in self._live.current.ruleset.addressed:
            counts = Counter({**self._metrics.refusals(name), PROBE: self._metrics.received(name)})
            refused = self._lately.rise(name, self._clock.ledger(), counts)
            accepted = refused.pop(PROBE, 0)  # no refusal has this name
            payload = {
                "endpoint": name,
                "refused": refused.total(),
                "accepted": accepted,
                "minutes": WINDOW_MS // 60_000,
                "reasons": dict(refused.most_common()),
                "main_reason": next((reason for reason, _ in refused.most_common(1)), ""),
            }
            wrong = refused.total() >= REFUSED_MIN and refused.total() > accepted
            await self._spells.look(name, payload if wrong else None)


class RuleAlerts:
    """
    `rule.failing`: within an hour a rule's condition erred on five events or more, and on more
    than it matched. Over when that has not been so for an hour.
    """

    def __init__(self, *, live: LiveRef, reads: StoreReads, clock: Clock, alerts: Alerts) -> None:
        self._live, self._reads, self._clock = live, reads, clock
        self._lately = Lately(ERRING_MS, clock.ledger())
        self._spells = Spells("rule.failing", "erring", ERRING_MS, clock=clock, alerts=alerts)
        self._looked: int | None = None

    async def step(self) -> None:
        """Look at every rule that has ever erred, by what all nodes have counted."""
        if not wants(self._live.current, "rule.failing"):
            return
        now = self._clock.ledger()
        if self._looked is not None and now - self._looked < COUNTED_MS:
            return
        for rule, count in (await self._reads.rule_counts()).items():
            counts = Counter(erred=count.errored, matched=count.matched + count.shadowed)
            if self._looked is None:
                self._lately.begin(rule, counts)
            elif count.errored:
                await self._look(rule, self._lately.rise(rule, now, counts))
        self._looked = now

    async def _look(self, rule: str, lately: Counter[str]) -> None:
        erred, matched = lately["erred"], lately["matched"]
        payload = {
            "rule": rule,
            "erred": erred,
            "matched": matched,
            "minutes": ERRING_MS // 60_000,
        }
        wrong = erred >= ERRED_MIN and erred > matched
        await self._spells.look(rule, payload if wrong else None)


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


async def look_at_ends(
    thing: str, ends: Callable[[], Mapping[str, int]], *, clock: Clock, alerts: Alerts
) -> None:
    """
    `secret.expiring` and `certificate.expiring`: some days before a secret's `until` or the end of
    a listener's certificate. `ends` are the times of each `thing` by name.
    """
    found, event, prefix = ends(), f"{thing}.expiring", _ENDING[thing]
    for name, until in found.items():
        left = until - clock.now()
        stage = next((days for days in EXPIRING_DAYS[thing] if 0 < left <= days * DAY_MS), None)
        fact = f"{prefix}{name}"
        known = await alerts.of(fact)
        if stage is None or (known and known[0] == until and known[1] <= stage):
            continue
        payload = {thing: name, "until": timestamp(until), "days_left": -(-left // DAY_MS)}
        identity = f"{event}/{name}/{until}/{stage}d"
        await alerts.send(fact, [until, stage], event, identity, payload)
    await alerts.forget_others(prefix, found)


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


def disk_of(address: StoreAddress) -> Callable[[], tuple[int, int]]:
    """The bytes used and all bytes of the disk that the store is on; a database's are unknown."""
    if not isinstance(address, SqliteFile):
        return lambda: (0, 1)
    folder = Path(address.path).absolute().parent

    def disk() -> tuple[int, int]:
        usage = shutil.disk_usage(folder)
        return usage.total - usage.free, usage.total

    return disk


class ThisNode(NamedTuple):
    """Its name, and what it does for all."""

    name: str
    claimed: Claimed


class WatchedParts(NamedTuple):
    """
    What this process knows itself: the quiet endpoints, the targets, when the certificates of its
    listeners end, and what it has counted.
    """

    silent: Callable[[], Mapping[str, Any]]
    targets: Callable[[], Iterable[TargetNow]]
    certificates: Callable[[], Mapping[str, int]]
    metrics: Metrics


def watches(
    writer: OwnEventWriter,
    live: LiveRef,
    store: Store,
    *,
    parts: WatchedParts,
    hide: Hide,
    clock: Clock,
    here: ThisNode,
) -> tuple[ConditionWatch, ...]:
    """
    Of everything that becomes an event while it lasts. What is the same to all nodes of a shared
    store is looked at by one of them; refusals, targets and certificates by each, as it sees them.
    """
    alerts = Alerts(store, writer.send)
    own = Alerts(store, writer.send, f"own@{here.name}/") if store.shared else alerts
    disk = disk_of(live.current.ruleset.server.store)

    def secrets() -> dict[str, int]:
        known = live.current.ruleset.secrets.values()
        return {secret.name: secret.until for secret in known if secret.until is not None}

    common: tuple[ConditionWatch, ...] = (
        partial(look_at_endpoints, live=live, silent=parts.silent, alerts=alerts),
        partial(look_at_ends, "secret", secrets, clock=clock, alerts=alerts),
        partial(look_at_storage, live=live, store=store, disk=disk, clock=clock, alerts=alerts),
        RuleAlerts(live=live, reads=store.reads, clock=clock, alerts=alerts).step,
        DeathAlerts(live=live, reads=store.reads, hide=hide, clock=clock, alerts=alerts).step,
    )
    if store.shared:
        common = (alerts.read_again, *common)
    return (
        RefusalAlerts(live=live, metrics=parts.metrics, clock=clock, alerts=own).step,
        partial(look_at_targets, now=parts.targets, alerts=own),
        partial(look_at_ends, "certificate", parts.certificates, clock=clock, alerts=own),
        *[partial(_by_one_node, here.claimed, watch) for watch in common],
    )


async def _by_one_node(claimed: Claimed, watch: ConditionWatch) -> None:
    if await claimed("own events", CLAIM_MS):
        await watch()
