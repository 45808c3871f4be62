"""Times in which too much goes wrong: by how much counts rose lately, and one event for each."""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from router.clock import Clock
from router.serving.alerts import Alerts


class Lately:
    """By how much counts rose in the last `window_ms` of ledger time; they begin at zero."""

    def __init__(self, window_ms: int, began: int) -> None:
        self._window_ms, self._began = window_ms, began
        self._seen: dict[str, deque[tuple[int, Counter[str]]]] = {}

    def begin(self, name: str, counts: Counter[str]) -> None:
        """These counts did not begin at zero."""
        self._seen[name] = deque([(self._began, counts)])

    def rise(self, name: str, now: int, counts: Counter[str]) -> Counter[str]:
        """What has been added to these counts, which are those of now."""
        seen = self._seen.setdefault(name, deque([(self._began, Counter())]))
        seen.append((now, counts))
        while len(seen) > 2 and seen[1][0] <= now - self._window_ms:
            seen.popleft()
        return counts - seen[0][1]


class Spells:
    """
    One event when something goes wrong; over when it has not done so for `over_ms`. Names are
    those of its facts, under `prefix`.
    """

    def __init__(
        self, event: str, prefix: str, over_ms: int, *, clock: Clock, alerts: Alerts
    ) -> None:
        self._event, self._prefix, self._over_ms = event, prefix, over_ms
        self._clock, self._alerts = clock, alerts
        self._began, self._held = clock.ledger(), dict[str, int]()

    async def look(self, name: str, payload: Mapping[str, Any] | None) -> None:
        """`payload` says what goes wrong now; None: nothing does. May raise StoreUnavailable."""
        now, fact, event = self._clock.ledger(), f"{self._prefix}/{name}", self._event
        since = await self._alerts.of(fact)
        if payload is not None:
            self._held[name] = now
            if since is None:
                await self._alerts.send(fact, now, event, f"{event}/{name}/{now}", payload)
        elif since is not None and now - self._held.get(name, self._began) >= self._over_ms:
            await self._alerts.keep(fact, None)
