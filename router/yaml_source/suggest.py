"""Did you mean …: the nearest of the names that would have been right."""

from collections.abc import Iterable

_WORK_MAX = 4_000_000


class Suggester:
    """
    Finds near names, with a budget for one file: letters that are compared with one another.

    A misspelling in every one of ten thousand rules must not compare ten thousand names each.
    """

    def __init__(self, work: int = _WORK_MAX) -> None:
        self._work = work

    def nearest(self, name: str, candidates: Iterable[str]) -> str | None:
        """The candidate within edit distance 2 (1 for names under five letters), or None."""
        allowed = 2 if len(name) >= 5 else 1
        best, best_distance = None, allowed + 1
        for candidate in candidates:
            if abs(len(candidate) - len(name)) >= best_distance:
                continue
            self._work -= len(name) * len(candidate)
            if self._work < 0:
                break
            distance = edit_distance(name.lower(), candidate.lower(), best_distance)
            if distance < best_distance:
                best, best_distance = candidate, distance
        return best

    def hint(self, name: str, candidates: Iterable[str]) -> str | None:
        """`did you mean 'x'?` or None."""
        found = self.nearest(name, candidates)
        return f"did you mean '{found}'?" if found is not None else None


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
