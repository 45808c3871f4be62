"""What is done to a fleet, drawn by a seed: the database, its routers and their links."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tests.fleet.site import Fleet, Node, until

Kind = Literal["stop", "promotion", "kill", "freeze", "cut", "hole", "long_hole"]
"""
stop        PostgreSQL is stopped as a crash leaves it, and started again
promotion   it is stopped so while its standby is a bit behind, and that one promoted; then it is
            made the standby
kill        SIGKILL of a router, which is started again
freeze      SIGSTOP of a router until the others have declared it gone, then SIGCONT
cut         its connections to the database are closed, and new ones, for up to a second
hole        what it sends to the database, and hears, is held up for up to three seconds
long_hole   the same until the others have declared it gone; then all of it arrives
"""
OF_THE_DATABASE: tuple[Kind, ...] = ("stop", "promotion")
LONG: tuple[Kind, ...] = ("freeze", "long_hole")
"""They last until others have noticed."""
SPARED = 1
"""Routers that nothing befalls while others are frozen or cut off: somebody must notice."""


class Done(NamedTuple):
    """A fault: `until_gone` is how long the others took to notice; None: they need not."""

    kind: Kind
    until_gone: float | None = None


@dataclass
class Faults:
    """
    `touched` are the numbers of routers that others may declare gone; `done` what was done.
    """

    fleet: Fleet
    rng: random.Random
    touched: set[int] = field(default_factory=set)
    done: list[Done] = field(default_factory=list)

    async def do(self, step: Sequence[Kind]) -> None:
        """All of a step at once, each to a router of its own; all is well again then."""
        if step[0] in OF_THE_DATABASE:
            await (self._stop() if step[0] == "stop" else self._promote())
            self.done.append(Done(step[0]))
            for node in self.fleet.nodes:
                await node.ready()
            return
        nodes = self.rng.sample(self.fleet.nodes, len(step))
        await asyncio.gather(*[self._befall(n, kind) for n, kind in zip(nodes, step, strict=True)])

    async def _stop(self) -> None:
        await asyncio.to_thread(self.fleet.server.stop, "immediate")
        await asyncio.sleep(self.rng.uniform(0, 1))
        await asyncio.to_thread(self.fleet.server.start)

    async def _promote(self) -> None:
        assert self.fleet.pair is not None
        await self.fleet.fail_over(self.rng.uniform(0, 1))
        await asyncio.sleep(self.rng.uniform(0, 1))
        await self.fleet.pair.restore()

    async def _befall(self, node: Node, kind: Kind) -> None:
        numbers = await self.fleet.living(node)
        self.touched |= numbers
        seconds = None
        if kind == "kill":
            node.router.kill()
            await asyncio.sleep(self.rng.uniform(0, 1))
            await node.start()
        elif kind == "freeze":
            node.router.signal(signal.SIGSTOP)
            seconds = await self._until_gone(numbers)
            node.router.signal(signal.SIGCONT)
        elif kind == "cut":
            node.link.cut()
            await asyncio.sleep(self.rng.uniform(0, 1))
            node.link.mend()
        else:
            node.link.hold_up()
            if kind == "long_hole":
                seconds = await self._until_gone(numbers)
            else:
                await asyncio.sleep(self.rng.uniform(0, 3))
            node.link.mend()
        await node.ready()
        await until(lambda: self._back(node), f"{node.name} in the ledger again")
        self.done.append(Done(kind, seconds))

    async def _until_gone(self, numbers: set[int]) -> float:
        began = asyncio.get_running_loop().time()
        await until(lambda: self.fleet.gone(numbers), f"{numbers} declared gone")
        return asyncio.get_running_loop().time() - began

    async def _back(self, node: Node) -> bool:
        return bool(await self.fleet.living(node))

    def __str__(self) -> str:
        counts = Counter(one.kind for one in self.done)
        slowest = max([one.until_gone for one in self.done if one.until_gone], default=0.0)
        named = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))
        return f"{named}; noticed within {slowest:.1f} s"


def planned(counts: Mapping[Kind, int], nodes: int, rng: random.Random) -> list[list[Kind]]:
    """
    So many of each kind in steps: those of the database alone; what befalls routers one at a time
    or several at once, those that last long together, for then others can notice all of them.
    """
    most = nodes - SPARED
    short: list[Kind] = []
    long: list[Kind] = []
    for kind, count in counts.items():
        if kind not in OF_THE_DATABASE:
            (long if kind in LONG else short).extend([kind] * count)
    rng.shuffle(short)
    rng.shuffle(long)
    steps = [[kind] for kind in OF_THE_DATABASE for _ in range(counts.get(kind, 0))]
    while long:
        several = [long.pop() for _ in range(min(most, len(long)))]
        beside = [short.pop()] if short and len(several) < most else []
        steps.append(several + beside)
    while short:
        steps.append([short.pop() for _ in range(min(rng.randint(1, most), len(short)))])
    rng.shuffle(steps)
    return steps
