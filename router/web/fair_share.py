"""Who gives way where places are bounded: one caller that takes many never drives out another."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

K = TypeVar("K")


def oldest_of_largest(owners: Mapping[K, Hashable]) -> K:
    """The oldest place of the owner that has the most; `owners` by place, the oldest first."""
    largest = Counter(owners.values()).most_common(1)[0][0]
    return next(place for place, owner in owners.items() if owner == largest)
