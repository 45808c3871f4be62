"""
What senders publish: fetched, believed only whole, kept, refreshed.

Until it is known nothing is proved by it; once known it stays in force, across restarts too, until
something better comes.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Generic, Protocol, TypeVar

import msgspec

from router.clock import Clock
from router.errors import StoreUnavailable
from router.log import Log
from router.model.fetched import FetchedKind
from router.provider_calls.answers import ApiAnswer, CallFailedError, Sends, refused
from router.provider_calls.fetches import Fetches
from router.providers.management import ApiRequest, BadAnswerError
from router.store.protocol import FactStore
from router.store.values import Claimed, alone

TICK_S = 1.0
CLAIM_MS = 60_000
"""For so long no other node asks a source that one has asked."""
LOAD_S = 5.0
"""How soon the answer that another node waits for is looked for again."""
JITTER = 0.1
RETRIES_S = (5.0, 30.0, 120.0, 600.0, 3600.0)
"""Pauses after a failure, the last of them for ever."""


class LastGood(msgspec.Struct, frozen=True):
    """Something as it was last believed; `at` in Unix milliseconds."""

    at: int = 0


class Publisher(Protocol):
    """Whose publication it is: `base` is its address, `token` what is shown there."""

    @property
    def base(self) -> str: ...
    @property
    def token(self) -> str | None: ...


class FetchTurn(msgspec.Struct):
    """
    When a source is fetched next, in monotonic seconds, how often it has failed since, and until
    when nobody's wish makes that sooner.
    """

    due: float
    failures: int = 0
    not_before: float = 0.0


S = TypeVar("S", bound=Publisher)
K = TypeVar("K", bound=LastGood)


class Publications(ABC, Generic[S, K]):
    """
    One kind of what senders publish, by address.

    `sources` gives what is needed now (it changes with a reload), `open_client` a client for one
    address. What is `claimed` here no other node asks for. In `fetches` it says how they go.
    Subclasses say what is asked, and what an answer must be.
    """

    FACTS: ClassVar[str]
    WORDS: ClassVar[str]
    AHEAD: ClassVar[FetchedKind]
    """What `sources` are."""
    REFRESH_S: ClassVar[float]
    FLOOR_S: ClassVar[float] = 0.0
    """For so long after it was asked nothing makes a source be asked again."""
    kind: type[K]

    def __init__(
        self,
        *,
        sources: Callable[[], Iterable[S]],
        open_client: Callable[[str], AbstractAsyncContextManager[Sends]],
        facts: FactStore,
        clock: Clock,
        rng: random.Random,
        log: Log,
        claimed: Claimed = alone,
        fetches: Fetches | None = None,
    ) -> None:
        self._claimed = claimed
        self._fetches = fetches or Fetches()
        self._sources = sources
        self._open = open_client
        self._facts = facts
        self._clock = clock
        self._rng = rng
        self._log = log
        self._known: dict[str, K] = {}
        self._turns: dict[str, FetchTurn] = {}

    @abstractmethod
    def request(self, source: S) -> ApiRequest:
        """What a source is asked."""

    @abstractmethod
    def read(self, source: S, answer: ApiAnswer) -> K:
        """What it has answered. Raises BadAnswerError: it is not to be believed."""

    def kind_of(self, _one: S | K) -> FetchedKind:
        """What it is, for those who ask how its fetches go."""
        return self.AHEAD

    def known_at(self) -> dict[str, int | None]:
        """Since when what is in use is what it is, None where it is not known."""
        kept = {source.base: self._known.get(source.base) for source in self._sources()}
        return {base: one.at if one else None for base, one in kept.items()}

    async def load(self) -> None:
        """Take up what earlier runs knew."""
        for name, value in (await self._facts.recall(self.FACTS)).items():
            try:
                kept = msgspec.convert(value, self.kind)
            except msgspec.ValidationError:
                continue
            self._believe(name.removeprefix(self.FACTS), kept)

    async def run(self) -> None:
        """Ask every source when it is due, for ever."""
        while True:
            try:
                await self.step()
            except StoreUnavailable as error:
                self._log.error(f"{self.WORDS}: whose turn is it?", error=str(error))
            await self._clock.sleep(TICK_S)

    async def step(self) -> None:
        """Ask the sources that are due now, or take over what another node was answered."""
        sources = {source.base: source for source in self._sources()}
        self._fetches.needed(self.AHEAD, sources)
        for source in sources.values():
            turn = self._turns.setdefault(source.base, self._first_turn(source.base))
            if turn.due <= self._clock.monotonic():
                await self._turn(source, turn)

    async def _turn(self, source: S, turn: FetchTurn) -> None:
        if await self._claimed(f"{self.FACTS}{source.base}", CLAIM_MS):
            await self._ask(source, turn)
        else:
            await self.load()
            turn.due = max(self._first_turn(source.base).due, self._clock.monotonic() + LOAD_S)

    def _first_turn(self, base: str) -> FetchTurn:
        """At once, unless an earlier run fetched them not long ago."""
        now, kept = self._clock.monotonic(), self._known.get(base)
        if kept is None:
            return FetchTurn(now)
        age = (self._clock.now() - kept.at) / 1000
        return FetchTurn(now if not 0 <= age < self.REFRESH_S else now + self.REFRESH_S - age)

    async def _ask(self, source: S, turn: FetchTurn) -> None:
        wait: float | None = None
        turn.not_before = self._clock.monotonic() + self.FLOOR_S
        try:
            async with self._open(source.base) as client:
                answer = await client.send(self.request(source))
            wait = answer.retry_after_s
            if not answer.ok:
                raise BadAnswerError(refused(answer, source.token))
            found = self.read(source, answer)
        except (CallFailedError, BadAnswerError) as error:
            self._failed(source, turn, str(error), wait)
            return
        turn.failures, turn.due = 0, self._clock.monotonic() + self._spread(self.REFRESH_S)
        await self._take(source.base, found)

    def _failed(self, source: S, turn: FetchTurn, words: str, wait: float | None) -> None:
        base = source.base
        pause = self._spread(RETRIES_S[min(turn.failures, len(RETRIES_S) - 1)])
        asked_for = min(wait or 0.0, self.REFRESH_S)
        turn.failures += 1
        turn.due = self._clock.monotonic() + max(pause, asked_for)
        turn.not_before = max(turn.not_before, self._clock.monotonic() + asked_for)
        kept = self._known.get(base)
        state = "the last known ones stay in force" if kept else "none are known: 503 until then"
        self._fetches.failed(base, self.kind_of(source), self._clock.now(), words)
        self._log.warning(f"{self.WORDS} not refreshed", base=base, reason=words, now=state)

    async def _take(self, base: str, kept: K) -> None:
        before = self._known.get(base)
        self._believe(base, kept)
        if before is None or msgspec.structs.replace(before, at=kept.at) != kept:
            self._log.info(f"{self.WORDS} known", base=base)
        try:
            await self._facts.remember({self.FACTS + base: msgspec.to_builtins(kept)})
        except StoreUnavailable as error:
            self._log.error(f"{self.WORDS} could not be kept", base=base, error=str(error))

    def _believe(self, base: str, kept: K) -> None:
        self._known[base] = kept
        self._fetches.good(base, self.kind_of(kept), kept.at)

    def _spread(self, seconds: float) -> float:
        return seconds * (1 + self._rng.uniform(-JITTER, JITTER))
