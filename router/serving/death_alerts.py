"""Dead letters, however many, as one event now and then."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from router.clock import Clock
from router.model.operations import Cause
from router.model.settings import OWN
from router.rules.live import LiveRef
from router.rules.own_events import REASON_MAX, Hide, head_of, shown, timestamp, wants
from router.serving.alerts import Alerts
from router.store.reads import StoreReads
from router.store.values import Selector

EVENT = "jobs.dead"
INTERVAL_MS = 10 * 60_000
LISTED = 10
FACT = "dead"

Counted = tuple[int, int]
"""Dead jobs of one action and target, and when the latest died (0: not known apart)."""


class _Dead(NamedTuple):
    """Those of one rule, action and target, by the cause of the latest."""

    latest: Cause
    jobs: int
    last_at: int
    new: int = 0


class DeathAlerts:
    """
    `jobs.dead`: dead letters that none of these events has counted. The first at once, those that
    follow together, ten minutes after the event before.

    It compares what is dead with what was told, so that neither a crash, nor a late commit, nor a
    clock that was set hides a death. Dead jobs about the router's own events do not count.
    """

    def __init__(
        self, *, live: LiveRef, reads: StoreReads, hide: Hide, clock: Clock, alerts: Alerts
    ) -> None:
        self._live, self._reads, self._hide = live, reads, hide
        self._clock, self._alerts = clock, alerts
        self._seen = -1, 0

    async def step(self) -> None:
        """Look once. Causes are read when another number is dead, else every ten minutes."""
        if not wants(self._live.current, EVENT):
            return
        now = self._clock.ledger()
        told = await self._alerts.of(FACT) or {"at": None, "counts": {}}
        if told["at"] is not None and now - told["at"] < INTERVAL_MS:
            return
        number = (await self._reads.open_states()).get("dead", 0)
        before, looked = self._seen
        if number == before and (not number or now - looked < INTERVAL_MS):
            return
        dead = await self._dead(told["counts"])
        counts = {name: [one.jobs, one.last_at] for name, one in dead.items()}
        if any(one.new for one in dead.values()):
            payload = self._payload(dead.values(), told["at"])
            fact = {"at": now, "counts": counts}
            await self._alerts.send(FACT, fact, EVENT, f"{EVENT}/{now}", payload)
        elif counts != told["counts"]:  # some were revived, replayed or removed
            await self._alerts.keep(FACT, {**told, "counts": counts})
        self._seen = number, now

    async def _dead(self, told: Mapping[str, Counted]) -> Mapping[str, _Dead]:
        """By rule, action and target, the latest first."""
        ours = {c.key: c for c in await self._reads.causes(Selector(endpoint=OWN))}
        found: dict[str, _Dead] = {}
        for cause in await self._reads.causes(Selector()):
            count, last_at = cause.count, cause.last_at
            if (own := ours.get(cause.key)) is not None:
                count, last_at = count - own.count, 0 if last_at == own.last_at else last_at
            if count > 0:
                name = f"{cause.rule}/{cause.action} {cause.target}"
                before = found.get(name, _Dead(cause, 0, 0))
                last_at = max(before.last_at, last_at)
                found[name] = before._replace(jobs=before.jobs + count, last_at=last_at)
        return {name: one._replace(new=_new(one, told.get(name))) for name, one in found.items()}

    def _payload(self, dead: Collection[_Dead], since: int | None) -> dict[str, Any]:
        new = sorted((one for one in dead if one.new), key=lambda one: one.new, reverse=True)
        return {
            "new": sum(one.new for one in new),
            "dead": sum(one.jobs for one in dead),
            "since": None if since is None else timestamp(since + self._clock.offset),
            "by_rule": [self._listed(one) for one in new[:LISTED]],
            "left_out": sum(one.new for one in new[LISTED:]),
        }

    def _listed(self, one: _Dead) -> dict[str, Any]:
        cause = one.latest
        return {
            "rule": cause.rule,
            "action": cause.action,
            "target": shown(cause.target, self._hide, REASON_MAX),
            "new": one.new,
            "dead": one.jobs,
            "reason": shown(self._reason(cause), self._hide, REASON_MAX),
            "cause": cause.key,
            "job": cause.examples[0],
            "last_at": timestamp(cause.last_at),
        }

    def _reason(self, cause: Cause) -> str:
        """Without what may quote a value that is redacted."""
        live = self._live.current
        redacting = [name for name in live.ruleset.endpoints if live.redacts(name)]
        rule = next((r for r in live.ruleset.rules if redacting and r.id == cause.rule), None)
        quotes = rule is not None and any(map(rule.takes, redacting))
        return head_of(cause.reason) if quotes else cause.reason


def _new(one: _Dead, told: Counted | None) -> int:
    """How many were not told; of those that were revived and died again at least one."""
    count, last_at = told or (0, 0)
    return max(one.jobs - count, int(one.last_at > last_at))
