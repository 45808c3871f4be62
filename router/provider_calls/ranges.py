"""Address ranges that senders publish. Until they are known nobody is let in by them."""

from typing import ClassVar

from router.model.fetched import FetchedKind
from router.provider_calls.answers import ApiAnswer
from router.provider_calls.published import LastGood, Publications
from router.providers.management import ApiRequest
from router.providers.published_ranges import RangesSource, read_ranges

REFRESH_S = 6 * 3600.0

Ranges = tuple[str, ...]


class StoredRanges(LastGood, frozen=True, kw_only=True):
    """A list of ranges."""

    ranges: Ranges


class PublishedRanges(Publications[RangesSource, StoredRanges]):
    """The ranges of every sender that an endpoint needs, by where they are published."""

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
