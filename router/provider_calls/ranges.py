"""
Address ranges that senders publish: fetched, believed only whole, kept, refreshed.

Until ranges are known nobody is let in by them; once known they stay in force, across restarts
too, until a better list comes.
"""

import random
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager

import msgspec

from router.clock import Clock
from router.errors import StoreUnavailable
from router.log import Log
from router.provider_calls.answers import CallFailedError, Sends, refused
from router.providers.management import Access, BadAnswerError, ranges, read_ranges
from router.store.protocol import FactStore
from router.store.values import Claimed, alone

FACTS = "ranges/"
TICK_S = 1.0
CLAIM_MS = 60_000
"""For so long no other node asks a source that one has asked."""
LOAD_S = 5.0
"""How soon the answer that another node waits for is looked for again."""
REFRESH_S = 6 * 3600.0
JITTER = 0.1
RETRIES_S = (5.0, 30.0, 120.0, 600.0, 3600.0)
"""Pauses after a failure, the last of them for ever."""

Ranges = tuple[str, ...]


class StoredRanges(msgspec.Struct, frozen=True):
    """A list as it was last believed; `at` in Unix milliseconds."""

    ranges: Ranges
    at: int


class _Turn(msgspec.Struct):
    """When a source is fetched next, in monotonic seconds, and how often it has failed since."""

    due: float
    failures: int = 0


class PublishedRanges:
    """
    The ranges of every sender that an endpoint needs, by the sender's API address.

    `sources` gives what is needed now (it changes with a reload), `open_client` a client for one
    address. `on_refresh` gets each list that is believed: the address, its size, Unix milliseconds.
    What is `claimed` here no other node asks for.
    """

    def __init__(
        self,
        *,
        sources: Callable[[], Iterable[Access]],
        open_client: Callable[[str], AbstractAsyncContextManager[Sends]],
        facts: FactStore,
        clock: Clock,
        rng: random.Random,
        log: Log,
        on_refresh: Callable[[str, int, int], None],
        claimed: Claimed = alone,
    ) -> None:
        self._claimed = claimed
        self._sources = sources
        self._open = open_client
        self._facts = facts
        self._clock = clock
        self._rng = rng
        self._log = log
        self._on_refresh = on_refresh
        self._known: dict[str, StoredRanges] = {}
        self._turns: dict[str, _Turn] = {}

    def of(self, base: str) -> Ranges | None:
        """The ranges published at an API's address; None: not known yet."""
        kept = self._known.get(base)
        return kept.ranges if kept else None

    def known_at(self) -> dict[str, int | None]:
        """Since when each list in use is what it is, None for one that is not known."""
        kept = {access.base: self._known.get(access.base) for access in self._sources()}
        return {base: one.at if one else None for base, one in kept.items()}

    async def load(self) -> None:
        """Take up what earlier runs knew."""
        for name, value in (await self._facts.recall(FACTS)).items():
            try:
                kept = msgspec.convert(value, StoredRanges)
            except msgspec.ValidationError:
                continue
            self._believe(name.removeprefix(FACTS), kept)

    async def run(self) -> None:
        """Ask every source when it is due, for ever."""
        while True:
            try:
                await self.step()
            except StoreUnavailable as error:
                self._log.error("address ranges: whose turn is it?", error=str(error))
            await self._clock.sleep(TICK_S)

    async def step(self) -> None:
        """Ask the sources that are due now, or take over what another node was answered."""
        for access in {access.base: access for access in self._sources()}.values():
            turn = self._turns.setdefault(access.base, self._first_turn(access.base))
            if turn.due > self._clock.monotonic():
                continue
            if await self._claimed(f"{FACTS}{access.base}", CLAIM_MS):
                await self._ask(access, turn)
            else:
                await self.load()
                turn.due = max(self._first_turn(access.base).due, self._clock.monotonic() + LOAD_S)

    def _first_turn(self, base: str) -> _Turn:
        """At once, unless an earlier run fetched them not long ago."""
        now, kept = self._clock.monotonic(), self._known.get(base)
        if kept is None:
            return _Turn(now)
        age = (self._clock.now() - kept.at) / 1000
        return _Turn(now if not 0 <= age < REFRESH_S else now + REFRESH_S - age)

    async def _ask(self, access: Access, turn: _Turn) -> None:
        wait: float | None = None
        try:
            async with self._open(access.base) as client:
                answer = await client.send(ranges(access))
            wait = answer.retry_after_s
            if not answer.ok:
                raise BadAnswerError(refused(answer, access.token))
            found = read_ranges(answer.body, access.rule.ranges_field)
        except (CallFailedError, BadAnswerError) as error:
            self._failed(access.base, turn, str(error), wait)
            return
        turn.failures, turn.due = 0, self._clock.monotonic() + self._spread(REFRESH_S)
        await self._take(access.base, StoredRanges(found, self._clock.now()))

    def _failed(self, base: str, turn: _Turn, words: str, wait: float | None) -> None:
        pause = self._spread(RETRIES_S[min(turn.failures, len(RETRIES_S) - 1)])
        turn.failures += 1
        turn.due = self._clock.monotonic() + max(pause, min(wait or 0.0, REFRESH_S))
        kept = self._known.get(base)
        state = "the last known ones stay in force" if kept else "none are known: 503 until then"
        self._log.warning("address ranges not refreshed", base=base, reason=words, now=state)

    async def _take(self, base: str, kept: StoredRanges) -> None:
        before = self._known.get(base)
        self._believe(base, kept)
        if before is None or set(before.ranges) != set(kept.ranges):
            self._log.info("address ranges known", base=base, ranges=len(kept.ranges))
        try:
            await self._facts.remember({FACTS + base: msgspec.to_builtins(kept)})
        except StoreUnavailable as error:
            self._log.error("address ranges could not be kept", base=base, error=str(error))

    def _believe(self, base: str, kept: StoredRanges) -> None:
        self._known[base] = kept
        self._on_refresh(base, len(kept.ranges), kept.at)

    def _spread(self, seconds: float) -> float:
        return seconds * (1 + self._rng.uniform(-JITTER, JITTER))
