"""
Spoiled requests over real sockets: whatever comes, an answer that is allowed, and the next one.

    python -m tests.faults.wire.fuzz --count 100000 [--seed N] [--only K]

Each case begins with rightly signed requests of the built-in providers and spoils them: bodies
before they are signed; headers, signatures, framing and lengths after; raw bytes; one or several in
a connection, in one write or many. Case K of a seed is always the same apart from the time and the
keys, so `--only` brings it back.

Looked at: every status is one of those promised (never 500), nothing hangs, what nobody spoiled is
answered 200, the router lives and serves good requests between, its memory stays within bounds, its
log has no traceback and only whole JSON lines, and no body is stored that was never signed.
"""

import argparse
import asyncio
import contextlib
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests import ledger
from tests.faults.telling import say
from tests.faults.wire.link import Act, Exchange, Step, exchange
from tests.faults.wire.message import Message, Place
from tests.faults.wire.mutations import AFTER, BODIES, pieces, spoil
from tests.faults.wire.progress import progress
from tests.faults.wire.site import Site, now_ms, odd_lines, site
from tests.faults.wire.vitals import resident

ALLOWED = frozenset({200, 400, 401, 403, 404, 405, 408, 413, 414, 415, 417, 431, 503})
UNSIGNED = frozenset({"token", "basic", "jwt", "gitlab"})
"""Providers whose proof does not cover the body."""

AT_ONCE = 16
DEADLINE_S = 8.0
GOOD_EVERY = 250
MEMORY_MIB = 250
PATIENT = 0.01
"""So many do not close their sending side: the router must end it by its own deadline."""

SERVER = (
    "  limits: {header_timeout: 4s, body_idle: 4s, body_total: 5s, keep_alive: 4s}\n"
    "  retention: {max_size: 4GiB}\n"
)
RULES = (
    "define: {total: decimal(payload.total_price)}\n"
    "rules:\n"
    "  - id: some\n    from: all\n"
    "    match: def.total > 1 || payload.number >= 0 || event == 'push'\n"
    "    actions: {log: 'got {{ event }}'}\n"
)


@dataclass(frozen=True)
class Spoiled:
    """One case: what goes over one connection. `clean`: so many good requests and nothing else."""

    steps: tuple[Step, ...]
    clean: int
    answers: int


@dataclass
class Tally:
    """What all cases so far came to."""

    done: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        each = ", ".join(f"{status} {count}" for status, count in sorted(self.statuses.items()))
        return (
            f"{self.done} cases, slowest {self.slowest:.2f} s, at most {self.memory:.0f} MiB; "
            f"answers: {each}; {len(self.problems)} problems"
        )


class Maker:
    """Makes case after case; `signed` remembers every body that was ever signed."""

    def __init__(self, places: list[Place], seed: int) -> None:
        self.places = places
        self.seed = seed
        self.signed: set[str] = set()

    def case(self, number: int) -> Spoiled:
        rng = random.Random(f"{self.seed}:{number}")
        clean = rng.random() < 0.05
        count = rng.choice((1, 1, 1, 1, 2, 3, 5))
        data = b"".join(self._one(rng, number * 8 + n, clean) for n in range(count))
        if not clean and rng.random() < 0.15:
            data = spoil(rng, data)
        steps: list[Step] = [*pieces(rng, data)]
        patient = not clean and rng.random() < PATIENT
        if not patient:
            steps.append(Act.HALF_CLOSE)
        return Spoiled(tuple(steps), count if clean else 0, count + 50)

    def _one(self, rng: random.Random, number: int, clean: bool) -> bytes:
        place = rng.choice(self.places)
        body = place.body(number)
        if not clean and rng.random() < 0.5:
            body = rng.choice(BODIES)(rng, body)
        if not clean and rng.random() < 0.05:
            message = place.signed(body, number, now_ms(), key=place.other)
        else:
            self.signed.add(ledger.digest(body))
            message = place.signed(body, number, now_ms())
        return message.encode() if clean else self._spoiled(rng, message, body)

    def _spoiled(self, rng: random.Random, message: Message, body: bytes) -> bytes:
        if body.startswith(b"payload=") and rng.random() < 0.8:
            message = message.changed(
                b"content-type", lambda _: b"application/x-www-form-urlencoded"
            )
        for _ in range(rng.choice((0, 1, 1, 2))):
            message = rng.choice(AFTER)(rng, message)
        return message.encode()


class Fuzz:
    """A campaign against one router."""

    def __init__(
        self, at: Site, seed: int, reported: Callable[[int], None] = lambda _: None
    ) -> None:
        self.site = at
        self.reported = reported
        self.tally = Tally()
        self.maker = Maker([p for name, p in at.places.items() if name != "walled"], seed)

    async def run(self, numbers: range) -> None:
        """All cases, several at once."""
        waiting = iter(numbers)

        async def worker() -> None:
            for number in waiting:
                await self._try(number)
                if self.tally.done % GOOD_EVERY == 0:
                    await self._look(number)

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
        await self._look(numbers.stop)

    async def _try(self, number: int) -> None:
        case = self.maker.case(number)
        found = await self._sent(case)
        tally = self.tally
        tally.done += 1
        tally.slowest = max(tally.slowest, found.seconds)
        tally.statuses.update(str(answer.status) for answer in found.answers)
        if not found.answers:
            tally.statuses["closed"] += 1
        tally.problems += [f"case {number}: {fault}" for fault in judged(case, found)]
        self.reported(tally.done)

    async def _sent(self, case: Spoiled) -> Exchange:
        """Until the router closes; a router that is gone is no answer."""
        try:
            return await exchange(
                self.site.rig.listen,
                case.steps,
                answers=case.answers,
                closes=True,
                within=DEADLINE_S,
            )
        except OSError as error:
            return Exchange(garbled=f"no connection: {error!r}")

    async def _look(self, number: int) -> None:
        """Between cases: it lives, serves, and has not grown."""
        if not self.site.router.running:
            raise RuntimeError(f"the router died about case {number}:\n{self.site.router.output()}")
        place = random.Random(number).choice(("shop", "mail", "code"))
        self.site.number = 100_000_000 + number
        good = self.site.good(place)
        self.maker.signed.add(ledger.digest(good.body))
        found = await exchange(self.site.rig.listen, [good.encode()], within=DEADLINE_S)
        if [answer.status for answer in found.answers] != [200]:
            self.tally.problems.append(f"case {number}: the next good request: {found}")
        self.tally.memory = max(self.tally.memory, resident(self.site.router))
        if self.tally.memory > MEMORY_MIB:
            self.tally.problems.append(f"case {number}: {self.tally.memory:.0f} MiB")
        self.tally.problems += [
            f"case {number}: log: {x}" for x in odd_lines(self.site.new_lines())
        ]

    def unsigned_bodies(self) -> list[str]:
        """Deliveries stored whose body nobody signed."""
        names = [name for name, place in self.site.places.items() if place.provider in UNSIGNED]
        marks = ",".join("?" * len(names))
        with contextlib.closing(ledger.connect(self.site.rig.store)) as db:
            rows = db.execute(
                f"SELECT id, body FROM deliveries WHERE endpoint NOT IN ({marks})",  # noqa: S608
                names,
            )
            return [
                f"{id_}: its body was never signed"
                for id_, body in rows
                if ledger.digest(body) not in self.maker.signed
            ]


def judged(case: Spoiled, found: Exchange) -> list[str]:
    """What is wrong with the answers."""
    statuses = [answer.status for answer in found.answers]
    problems = [f"answered {status}" for status in statuses if status not in ALLOWED]
    if found.hung or found.garbled:
        problems.append(f"{found} after {statuses}")
    if case.clean and statuses != [200] * case.clean:
        problems.append(f"{case.clean} good requests: {found}")
    for answer in found.answers:
        if answer.status != 200 and answer.body and not WORD.fullmatch(answer.body):
            problems.append(f"a refusal says {answer.body[:80]!r}")
    return problems


WORD = re.compile(rb'\{"error":"[a-z0-9_]{1,40}"\}')


def run(
    folder: Path, numbers: range, seed: int, reported: Callable[[int], None] = lambda _: None
) -> Tally:
    """So many cases against a router of their own."""
    with site(folder, RULES, SERVER) as at:
        fuzz = Fuzz(at, seed, reported)
        asyncio.run(fuzz.run(numbers))
        at.router.stop()
        fuzz.tally.problems += odd_lines(at.new_lines())
        fuzz.tally.problems += fuzz.unsigned_bodies() + found_in(at)
    return fuzz.tally


def found_in(at: Site) -> list[str]:
    with contextlib.closing(ledger.connect(at.rig.store, mend=True)) as db:
        return ledger.corruption(db)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--only", type=int, help="this case alone")
    options = parser.parse_args()
    say(f"seed {options.seed}")
    only = options.only
    numbers = range(options.count) if only is None else range(only, only + 1)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, progress("requests", len(numbers)) as reported:
        tally = run(Path(name), numbers, options.seed, reported)
    say(f"{tally}; {time.monotonic() - began:.0f} s")
    for problem in tally.problems[:30]:
        say(f"PROBLEM {problem}")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
