"""Senders to a fleet: each delivery is sent again, to any router, until one has taken it."""

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from tests.acceptance.senders import Sender, code
from tests.ledger import digest

ANSWER_S = 5.0
"""Then a sender takes the delivery elsewhere: a router that is stopped says nothing."""
TWICE = 0.2
"""Deliveries that are sent to two routers at the same moment."""


@dataclass
class Senders:
    """
    `acked` maps delivery ids of the routers to body digests; `heard` counts answers by their
    status, and what came instead of one; `wrong` is what no router may say.
    """

    urls: Sequence[str]
    rng: random.Random
    pause_s: float
    patience_s: float = ANSWER_S
    sender: Sender = field(default_factory=code)
    acked: dict[str, str] = field(default_factory=dict)
    heard: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    ends: bool = False

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)

    async def send(self, count: int) -> None:
        """So many at once, each one delivery after the other, until `ends`."""
        async with (
            httpx.AsyncClient(timeout=self.patience_s) as client,
            asyncio.TaskGroup() as tasks,
        ):
            for _ in range(count):
                tasks.create_task(self._one_by_one(client))

    async def _one_by_one(self, client: httpx.AsyncClient) -> None:
        while not self.ends:
            number = next(self._numbers)
            copies = 2 if self.rng.random() < TWICE else 1
            taken = await asyncio.gather(*[self._insist(client, number) for _ in range(copies)])
            if len(set(taken)) > 1:
                self.wrong.append(f"delivery {number} was taken twice: {taken}")
            await asyncio.sleep(self.pause_s)  # the load's pace

    async def _insist(self, client: httpx.AsyncClient, number: int) -> str:
        """The delivery's id, once a router has it."""
        while True:
            url = self.rng.choice(self.urls)
            request = self.sender.request(url, number, now_ms=time.time_ns() // 1_000_000)
            try:
                answer = await client.send(request)
            except httpx.TransportError as error:
                self.heard[type(error).__name__] += 1
                await asyncio.sleep(self.pause_s)
                continue
            self.heard[str(answer.status_code)] += 1
            if answer.status_code == 200:
                delivery: str = answer.json()["delivery"]
                self.acked[delivery] = digest(self.sender.body(number))
                return delivery
            self._refused(number, answer)
            await asyncio.sleep(self.pause_s)

    def _refused(self, number: int, answer: httpx.Response) -> None:
        if answer.status_code != 503 or "retry-after" not in answer.headers:
            self.wrong.append(f"delivery {number}: {answer.status_code} {answer.text[:60]}")
