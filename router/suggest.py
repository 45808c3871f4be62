"""Did you mean …: the nearest of the names that would have been right."""

from collections.abc import Callable, Iterable, Iterator

_WORK_MAX = 4_000_000


def nearest(word: str, known: Iterable[str], *, fold: Callable[[str], str] = str) -> str | None:
    """
    The known word within edit distance 2 (1 below five letters), the first of several that are as
    close; `fold` says what counts of a word.
    """
    allowed = 2 if len(word) >= 5 else 1
    best, least = None, allowed + 1
    for name in known:
        if abs(len(name) - len(word)) < least:
            distance = edit_distance(fold(word), fold(name), least)
            if distance < least:
                best, least = name, distance
    return best


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """`did you mean 'x'?` or None, whatever the case of letters."""
    return Suggester().hint(name, candidates)


class Suggester:
    """
    Finds near names, with a budget for one file: letters that are compared with one another.

    A misspelling in every one of ten thousand rules must not compare ten thousand names each.
    """

    def __init__(self, work: int = _WORK_MAX) -> None:
        self._work = work

    def nearest(self, name: str, candidates: Iterable[str]) -> str | None:
        """The nearest candidate, whatever the case of letters, or None."""
        return nearest(name, self._affordable(name, candidates), fold=str.lower)

    def hint(self, name: str, candidates: Iterable[str]) -> str | None:
        """`did you mean 'x'?` or None."""
        found = self.nearest(name, candidates)
        return f"did you mean '{found}'?" if found is not None else None

    def _affordable(self, name: str, candidates: Iterable[str]) -> Iterator[str]:
        for candidate in candidates:
            if abs(len(candidate) - len(name)) <= 2:
                self._work -= len(name) * len(candidate)
                if self._work < 0:
                    return
                yield candidate


def edit_distance(a: str, b: str, limit: int) -> int:
    """
    How many insertions, deletions, replacements and swaps of neighbours make `a` into `b`.

    Gives `limit` as soon as the distance cannot be smaller.
    """
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) >= limit and min(last) >= limit:
            return limit
        before, last = last, row
    return min(last[-1], limit)
