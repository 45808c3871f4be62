"""Fairness where more is due than can start: fresh jobs beside a backlog, endpoints in turn."""

from collections.abc import Mapping

KEPT = 256
"""Of one target and endpoint: more are left to the backlog, which is run oldest first."""
FRESH_MS = 15_000
"""Whoever has been due for longer is backlog too: else the newest would wait behind these."""


BEHIND_MS = 500
"""A target whose oldest due job waits longer is behind: its slots are shared out."""


class Fairness:
    """
    Targets that are behind, and the jobs that go before others there: ids of those that could not
    start at once, by target and endpoint, with their due times.

    While a target is behind, part of its slots goes to these, one from each endpoint in turn: so
    nobody waits behind a backlog, nor behind another endpoint's flood. Forgetting is harmless.
    """

    def __init__(self) -> None:
        self._fresh: dict[str, dict[str, dict[str, int]]] = {}
        self._behind: dict[str, int] = {}

    def put(self, target: str, endpoint: str, job: str, due_at: int) -> None:
        """A job that has to wait."""
        queue = self._fresh.setdefault(target, {}).setdefault(endpoint, {})
        if len(queue) >= KEPT:
            del queue[next(iter(queue))]
        queue[job] = due_at

    def pick(self, target: str, count: int, now: int) -> list[str]:
        """Up to `count` ids of due jobs, one from each endpoint in turn; they are forgotten."""
        endpoints = self._fresh.get(target)
        picked: list[str] = []
        idle = 0
        while endpoints and len(picked) < count and idle < len(endpoints):
            endpoint = next(iter(endpoints))
            queue = endpoints.pop(endpoint)
            while queue and queue[oldest := next(iter(queue))] < now - FRESH_MS:
                del queue[oldest]
            job = next((job for job, due_at in queue.items() if due_at <= now), None)
            if job is None:
                idle += 1
            else:
                idle = 0
                del queue[job]
                picked.append(job)
            if queue:
                endpoints[endpoint] = queue
        return picked

    def waits(self, target: str) -> bool:
        """Whether others wait there, so that nobody may pass them by."""
        return target in self._behind

    def named(self, slots: Mapping[str, int], now: int) -> dict[str, list[str]]:
        """
        Of each target that is behind, three in four slots for the newest jobs, one endpoint after
        another. What they leave, and the fourth, is the backlog's.
        """
        found = {}
        for target in self._behind.keys() & slots.keys():
            turn = self._behind[target] = (self._behind[target] + 1) % 4
            found[target] = self.pick(target, (3 * slots[target] + turn) // 4, now)
        return found

    def taken(self, target: str, endpoint: str, job: str) -> None:
        """A job was leased: it waits no more."""
        if self._behind:
            self._fresh.get(target, {}).get(endpoint, {}).pop(job, None)

    def left(self, target: str, due_at: int | None, now: int) -> bool:
        """The first due time of what a lease left there; True: nothing is due."""
        if due_at is None or due_at > now:
            self._behind.pop(target, None)
            self._fresh.pop(target, None)
            return True
        if due_at <= now - BEHIND_MS:
            self._behind.setdefault(target, 0)
        return False
