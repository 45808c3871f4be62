"""The bytes of large bodies held in memory for jobs that run, and whose they are."""

from router.model.job import Job

SMALL = 64 * 1024
"""Bodies up to this many bytes are not counted: all slots full of them are a few MiB."""

MOST = 128 * 1024 * 1024
"""Bytes of larger ones above which no more is begun."""


class BodyBudget:
    """
    Who may begin another job although large bodies are held.

    While any are, no target holds more than half of what others leave free, so the large bodies of
    a target that hangs do not stop the rest. What begins is counted after the fact, so `most` is
    passed by what was begun or leased at one time.
    """

    __slots__ = ("_by_target", "_most", "_sizes", "held")

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._sizes: dict[str, int] = {}
        self._by_target: dict[str, int] = {}
        self.held = 0

    def take(self, job: Job, size: int) -> None:
        """A job's body is held from here on; the caller has seen that it is not small."""
        self.give(job)  # one that was lost and taken back counts once
        self._sizes[job.id] = size
        self._by_target[job.target] = self._by_target.get(job.target, 0) + size
        self.held += size

    def give(self, job: Job) -> bool:
        """A job has ended; True: a body of its was counted."""
        size = self._sizes.pop(job.id, 0)
        if not size:
            return False
        self.held -= size
        mine = self._by_target.pop(job.target) - size
        if mine:
            self._by_target[job.target] = mine
        return True

    def room(self, target: str) -> bool:
        """Whether a job of the target may begin, however large its body is."""
        mine = self._by_target.get(target, 0)
        if not mine:
            return self.held < self._most
        return mine < (self._most - self.held + mine) // 2
