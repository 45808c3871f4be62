"""Leases under way: what was asked of the store, and when it may be asked again."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple, cast

from router.clock import Clock
from router.dispatch.lease_plan import Wanted
from router.dispatch.lost_leases import LostLeases
from router.model.job import Job
from router.store.protocol import DispatchStore
from router.store.values import LeaseBatch

LEASES = 3
"""Leases under way at once."""
LEASE_PAUSE_S = 0.1
LONGEST_LEASE_PAUSE_S = 2.0

Known = Callable[[Sequence[Job]], Awaitable[None]]
"""Sees to it that jobs can begin here, as far as that is possible. Never raises."""
Fresh = Callable[[Mapping[str, int], int], Mapping[str, Sequence[str]]]
"""Jobs that go first, by the number wanted of each target and the time."""


class Asked(NamedTuple):
    """A lease that is under way: for what, its token, and when it was asked for."""

    wanted: Wanted
    lease: str
    now: int


class Leases:
    """
    Leases jobs under tokens of its own, `<node>/<number>`; several may be under way.
    `until` when (monotonic time) they are sure to be left to the `node`, nothing is leased after;
    infinite: whoever has a store alone is asked no time. While `held` nothing is leased at all.

    Each ends by `leased` or by `failed`, on the loop. After one that failed the store is left alone
    for a moment, and what it may have leased all the same is `lost`.
    """

    def __init__(
        self,
        store: DispatchStore,
        clock: Clock,
        *,
        node: str,
        fresh: Fresh,
        lost: LostLeases,
        leased: Callable[[Asked, LeaseBatch], None],
        failed: Callable[[Asked, Exception], None],
        known: Known | None = None,
    ) -> None:
        self._store, self._clock = store, clock
        self.rejoined(node)
        self._fresh, self.lost = fresh, lost
        self._on_leased, self._on_failed, self._known = leased, failed, known
        self._numbers = count(1)
        self._pause = self._after = 0.0
        self.until = math.inf
        self.held = False
        self.under_way: set[asyncio.Future[LeaseBatch]] = set()

    def rejoined(self, node: str) -> None:
        """It is this node from now on: what another one leased is not its own."""
        self.node, self._prefix = node, f"{node}/"

    def token(self) -> str:
        """A lease that nobody has."""
        return f"{self._prefix}{next(self._numbers)}"

    def are_safe(self) -> bool:
        """Whether jobs may start: not held, and nobody takes over yet what the node leases."""
        if self.held:
            return False
        return self.until == math.inf or self._clock.monotonic() < self.until

    def holds(self, job: Job) -> bool:
        """Whether a leased job is one of the node's, and so is left to it."""
        return (job.lease or "").startswith(self._prefix) and self.are_safe()

    def wait_s(self) -> float:
        """Seconds until the store may be asked again; inf: something must happen before."""
        if len(self.under_way) >= LEASES or not self.are_safe():
            return math.inf
        return max(self._after - self._clock.monotonic(), 0.0)

    def ask(self, wanted: Wanted, now: int) -> None:
        """Lease what is wanted; its slots are held."""
        slots = {target: share.room for target, share in wanted.items()}
        kinds = {target: share.kind for target, share in wanted.items() if share.kind is not None}
        asked = Asked(wanted, self.token(), now)
        try:
            fresh = self._fresh(slots, now)
            answer = self._store.lease(slots, lease=asked.lease, now=now, fresh=fresh, kinds=kinds)
            call = asyncio.ensure_future(
                answer if self._known is None else _when_known(answer, self._known)
            )
        except Exception as error:  # noqa: BLE001 - the loop must outlive any store
            self._failed(asked, error)
        else:
            self.under_way.add(call)
            call.add_done_callback(partial(self._ended, asked))

    def cancel(self) -> None:
        """Wait for none of them any more."""
        for call in tuple(self.under_way):
            call.cancel()

    def _ended(self, asked: Asked, call: "asyncio.Future[LeaseBatch]") -> None:
        self.under_way.discard(call)
        if call.cancelled():
            return
        if (error := call.exception()) is not None:
            self._failed(asked, cast("Exception", error))
        else:
            self._pause = 0.0
            self._on_leased(asked, call.result())

    def _failed(self, asked: Asked, error: Exception) -> None:
        self.lost.lease(asked.lease)
        self._pause = min(max(self._pause * 2, LEASE_PAUSE_S), LONGEST_LEASE_PAUSE_S)
        self._after = self._clock.monotonic() + self._pause
        self._on_failed(asked, error)


async def _when_known(answer: Awaitable[LeaseBatch], known: Known) -> LeaseBatch:
    batch = await answer
    await known([work.job for work in batch.jobs])
    return batch
