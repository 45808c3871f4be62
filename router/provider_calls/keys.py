"""
What senders publish: key sets of tokens, certificates of signatures, ranges of their addresses.

Key sets that endpoints name are fetched ahead. What a request shows to be missing is fetched soon,
and its sender tries again: once for an address in `FLOOR_S`, and of addresses that requests choose
one a second, so that a stranger's made-up keys cost us and the sender next to nothing. One address
may have two of them wait, so that they do not keep a genuine one out.
"""

from typing import Any, ClassVar

from router.intake.awaiting import OF_ONE_ADDRESS
from router.model.addresses import neighbourhood
from router.model.fetched import FetchedKind
from router.provider_calls.answers import ApiAnswer
from router.provider_calls.published import FetchTurn, LastGood, Publications
from router.providers.bearer import load_keys
from router.providers.certificates import Roots, public_key, trusted_roots, vouched
from router.providers.keys import UnusableKeyError
from router.providers.management import ApiRequest, BadAnswerError, Promise
from router.providers.published_ranges import RangesSource, read_ranges
from router.providers.waiting import PublishedKey

FLOOR_S = 30.0
WANTED_MAX = 8
KNOWN_MAX = 64
"""Certificates at addresses that requests chose."""
TURNS_MAX = 256
_CONTENT = Promise((200,), "anything")


class KeySource(PublishedKey, frozen=True):
    """One of them as a source: nothing is shown to get it."""

    token: str | None = None

    @property
    def base(self) -> str:
        """Its address."""
        return self.address


class StoredKey(LastGood, frozen=True, kw_only=True):
    """A key set or certificate, as it came; `chosen`: a request named its address."""

    key: bytes
    chosen: bool = False


class PublishedKeys(Publications[KeySource, StoredKey]):
    """The keys of every sender that an endpoint needs, by address."""

    FACTS: ClassVar[str] = "keys/"
    WORDS: ClassVar[str] = "published keys"
    AHEAD: ClassVar[FetchedKind] = "key set"
    REFRESH_S: ClassVar[float] = 3600.0
    FLOOR_S: ClassVar[float] = FLOOR_S
    kind = StoredKey

    def __init__(self, *, roots: Roots = trusted_roots, **given: Any) -> None:
        super().__init__(**given)
        self._roots = roots
        self._wanted: dict[str, tuple[KeySource, str]] = {}

    def kind_of(self, one: KeySource | StoredKey) -> FetchedKind:
        """Certificates are at addresses that requests chose."""
        chosen = one.chosen if isinstance(one, StoredKey) else bool(one.hosts)
        return "certificate" if chosen else self.AHEAD

    def known(self, key: PublishedKey) -> bytes | None:
        """What stands at its address; None: not known yet."""
        kept = self._known.get(key.address)
        return kept.key if kept else None

    def want(self, key: PublishedKey, peer: str) -> None:
        """Have it fetched at the next turn, unless that was tried a moment ago."""
        now, turn = self._clock.monotonic(), self._turns.get(key.address)
        if turn is not None and turn.not_before > now:
            return
        if key.hosts:
            near, others = neighbourhood(peer), [by for _, by in self._wanted.values()]
            if len(others) < WANTED_MAX and others.count(near) < OF_ONE_ADDRESS:
                self._wanted.setdefault(key.address, (source_of(key), near))
        elif turn is not None:
            turn.due = now

    async def load(self) -> None:
        """Take up what earlier runs knew."""
        await super().load()
        await self._forget()

    async def step(self) -> None:
        """Ask what is due, and one of the addresses that requests have named."""
        await super().step()
        if self._wanted:
            source, _ = self._wanted.pop(next(iter(self._wanted)))
            await self._turn(source, self._turns.setdefault(source.base, FetchTurn(0.0)))
            await self._forget()

    def request(self, source: KeySource) -> ApiRequest:
        """What stands there."""
        return ApiRequest("GET", source.base, (("Accept", "*/*"),), _CONTENT)

    def read(self, source: KeySource, answer: ApiAnswer) -> StoredKey:
        """A key set with a usable key, or a certificate that can be trusted."""
        now = self._clock.now()
        try:
            if source.kind == "key set":
                load_keys(answer.body)
            elif source.chained:
                vouched(answer.body, source.names, now, self._roots)
            else:
                public_key(answer.body, source.names, now)
        except UnusableKeyError as error:
            raise BadAnswerError(str(error)) from None
        return StoredKey(key=answer.body, at=now, chosen=bool(source.hosts))

    async def _forget(self) -> None:
        """The oldest of what requests have named, beyond what any sender needs."""
        chosen = sorted((one.at, base) for base, one in self._known.items() if one.chosen)
        late = [base for _, base in chosen[:-KNOWN_MAX]]
        for base in late:
            del self._known[base]
        if late:
            await self._facts.remember({self.FACTS + base: None for base in late})
        while len(self._turns) > TURNS_MAX:
            self._turns.pop(next(iter(self._turns)))


def source_of(key: PublishedKey) -> KeySource:
    """The same as a source."""
    return KeySource(**{name: getattr(key, name) for name in key.__struct_fields__})


REFRESH_S = 6 * 3600.0

Ranges = tuple[str, ...]


class StoredRanges(LastGood, frozen=True, kw_only=True):
    """A list of ranges."""

    ranges: Ranges


class PublishedRanges(Publications[RangesSource, StoredRanges]):
    """
    The ranges of every sender that an endpoint needs, by where they are published. Until they are
    known nobody is let in by them.
    """

    FACTS: ClassVar[str] = "ranges/"
    WORDS: ClassVar[str] = "address ranges"
    AHEAD: ClassVar[FetchedKind] = "address ranges"
    REFRESH_S: ClassVar[float] = REFRESH_S
    kind = StoredRanges

    def of(self, base: str) -> Ranges | None:
        """The ranges published at an address; None: not known yet."""
        kept = self._known.get(base)
        return kept.ranges if kept else None

    def request(self, source: RangesSource) -> ApiRequest:
        """Its addresses."""
        return source.request

    def read(self, source: RangesSource, answer: ApiAnswer) -> StoredRanges:
        """All of them, or none."""
        found = read_ranges(answer.body, source.rule)
        return StoredRanges(ranges=found, at=self._clock.now())
