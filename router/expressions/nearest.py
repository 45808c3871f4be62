"""Did you mean: the closest known word."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """
    The known word within edit distance 2 (1 below five letters), the first in order if several
    are as close.
    """
    limit = 2 if len(word) >= 5 else 1
    scored = [(distance(word, candidate, limit), candidate) for candidate in sorted(known)]
    close = [pair for pair in scored if pair[0] <= limit]
    return min(close)[1] if close else None


def distance(left: str, right: str, limit: int) -> int:
    """Insertions, deletions, changes and swaps of neighbours; beyond the limit, more than it."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for at, letter in enumerate(left, 1):
        previous, row, older = row, [at], before
        before = previous
        for other_at, other in enumerate(right, 1):
            cost = min(row[-1], previous[other_at]) + 1
            cost = min(cost, previous[other_at - 1] + (letter != other))
            swapped = at > 1 and other_at > 1 and letter == right[other_at - 2]
            if swapped and left[at - 2] == other:
                cost = min(cost, older[other_at - 2] + 1)
            row.append(cost)
    return row[-1]
