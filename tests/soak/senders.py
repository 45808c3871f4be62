"""The load of a soak: so many deliveries a second, each sent until a router has taken it."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from tests.soak.deliveries import Parcel
from tests.soak.judge import Expected
from tests.soak.samples import Heard

AT_ONCE = 64
"""Deliveries under way; when the router is gone, the load waits."""
PAUSE_S = 0.5
ANSWER_S = 10.0
REFUSED = 401


@dataclass
class Load:
    """
    `heard` counts answers by their status, and what came instead of one; `lately` is given away
    with each sample; `problems` is what no router may say.
    """

    url: str
    rate: float
    expected: Expected
    clock: Callable[[], float]
    heard: Counter[str] = field(default_factory=Counter)
    lately: Heard = field(default_factory=Heard)
    problems: list[str] = field(default_factory=list)
    acknowledged: int = 0

    async def send(self) -> None:
        """Until it is cancelled; what is under way then is cancelled too."""
        places = asyncio.Semaphore(AT_ONCE)
        limits = httpx.Limits(max_connections=AT_ONCE)
        async with (
            httpx.AsyncClient(timeout=ANSWER_S, limits=limits) as client,
            asyncio.TaskGroup() as tasks,
        ):
            due = self.clock()
            for number in itertools.count(1):
                await places.acquire()
                task = tasks.create_task(self._deliver(client, Parcel(number)))
                task.add_done_callback(lambda _: places.release())
                due = max(due + 1 / self.rate, self.clock())
                await asyncio.sleep(due - self.clock())  # the load's pace

    async def _deliver(self, client: httpx.AsyncClient, parcel: Parcel) -> None:
        first = await self._insist(client, parcel)
        if parcel.kind == "forged" or first is None:
            return
        self.acknowledged += 1
        self.expected.accepted(parcel.wanted, self.clock())
        if parcel.repeated and await self._insist(client, parcel) != first:
            self.problems.append(f"delivery {parcel.number} was taken twice")

    async def _insist(self, client: httpx.AsyncClient, parcel: Parcel) -> str | None:
        """The delivery's id, once the router has it; None if it was refused, rightly or not."""
        sender = parcel.sender()
        while True:
            now_ms = time.time_ns() // 1_000_000
            request = sender.request(self.url, parcel.number, now_ms=now_ms, size=parcel.size)
            began = self.clock()
            try:
                answer = await client.send(request)
            except httpx.TransportError as error:
                self.heard[type(error).__name__] += 1
                await asyncio.sleep(PAUSE_S)
                continue
            self.heard[str(answer.status_code)] += 1
            if answer.status_code != 503:
                return self._judged(parcel, answer, began)
            self.lately.unavailable += 1
            await asyncio.sleep(PAUSE_S)

    def _judged(self, parcel: Parcel, answer: httpx.Response, began: float) -> str | None:
        if answer.status_code != (REFUSED if parcel.kind == "forged" else 200):
            said = f"{answer.status_code} {answer.text[:60]}"
            self.problems.append(f"delivery {parcel.number} ({parcel.kind}): {said}")
            return None
        if answer.status_code == 200:
            self.lately.took_ms.append((self.clock() - began) * 1000)
        delivery: str | None = answer.json().get("delivery")
        return delivery
