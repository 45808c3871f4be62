"""When each target's next job is due: a heap in memory, forgetful on purpose."""

import heapq


class DueTimes:
    """
    The earliest known due time (ledger time) of each target.

    It may be too early (costs one empty lease), never too late: the sweep mends what was missed.
    """

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []

    def put(self, target: str, due_at: int) -> bool:
        """Remember a due time unless an earlier one is known; True: it is now the first of all."""
        known = self._at.get(target)
        if known is not None and known <= due_at:
            return False
        self._at[target] = due_at
        heapq.heappush(self._heap, (due_at, target))
        return self._heap[0][1] == target

    def take(self, now: int) -> list[str]:
        """Remove and return the targets due by `now`, earliest first."""
        taken = []
        while self._heap and self._heap[0][0] <= now:
            due_at, target = heapq.heappop(self._heap)
            if self._at.get(target) == due_at:
                del self._at[target]
                taken.append(target)
        return taken

    def next(self) -> int | None:
        """The earliest due time of all."""
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def __len__(self) -> int:
        return len(self._at)
