"""Numbers that move with every delivery: plain dicts, turned into samples when somebody looks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

ASKED_KEPT = 1_000
"""Different sets of candidates that are counted as one before they are written out by rule."""

Sample = tuple[tuple[str, ...], float]
"""Label values, and what they stand at."""


class Samples:
    """A family of the registry whose samples are asked for when somebody looks."""

    __slots__ = ("_family", "_read")

    def __init__(self, family: Callable[[], Any], read: Callable[[], Iterable[Sample]]) -> None:
        self._family = family
        self._read = read

    def describe(self) -> list[Any]:
        """The family without samples, for the registry."""
        return [self._family()]

    def collect(self) -> list[Any]:
        """The family as it stands."""
        family = self._family()
        for labels, value in self._read():
            family.add_metric(labels, value)
        return [family]


class Count:
    """A counter by label values; a few of them move with every delivery."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[tuple[str, ...], int] = {}

    def add(self, *labels: str) -> None:
        """One more."""
        values = self._values
        values[labels] = values.get(labels, 0) + 1

    def stands_at(self, value: int) -> None:
        """What somebody else counted."""
        self._values[()] = value

    def begin(self, *labels: str) -> None:
        """Show it from now on, also while it has not moved: who watches for growth needs that."""
        self._values.setdefault(labels, 0)

    def by_first(self) -> dict[str, int]:
        """The values by their only label."""
        return {labels[0]: value for labels, value in self._values.items()}

    def by_second(self, first: str) -> dict[str, int]:
        """The values with this first label, by their second."""
        return {labels[1]: value for labels, value in self._values.items() if labels[0] == first}

    def under(self, first: str) -> int:
        """The sum of the values with this first label."""
        return sum(value for labels, value in self._values.items() if labels[0] == first)

    def samples(self) -> list[Sample]:
        """What each stands at."""
        return list(self._values.items())


class Evaluations:
    """
    How often each rule was evaluated. Most events share their candidates with others: those are
    counted as one, whatever their number, until somebody looks. Of a candidate only the id of its
    `rule` counts; what it is stands in a package above.
    """

    __slots__ = ("_rules", "_shared")

    def __init__(self) -> None:
        self._rules: dict[str, int] = {}
        self._shared: dict[int, list[Any]] = {}  # id of a tuple -> it, so often

    def add(self, pieces: Iterable[Sequence[Any]]) -> None:
        """One event."""
        shared = self._shared
        for piece in pieces:
            if piece.__class__ is not tuple:
                self._spread(piece, 1)
                continue
            if (seen := shared.get(id(piece))) is not None:
                seen[1] += 1
                continue
            if len(shared) >= ASKED_KEPT:
                self.by_rule()
            shared[id(piece)] = [piece, 1]

    def by_rule(self) -> dict[str, int]:
        """All of it."""
        for piece, times in self._shared.values():
            self._spread(piece, times)
        self._shared.clear()
        return self._rules

    def _spread(self, piece: Sequence[Any], times: int) -> None:
        rules = self._rules
        for candidate in piece:
            name = candidate.rule.id
            rules[name] = rules.get(name, 0) + times


class Bound:
    """A family's children by label values: binding takes a lock and a tuple of texts each time."""

    __slots__ = ("_children", "_family")

    def __init__(self, family: Any) -> None:
        self._family = family
        self._children: dict[tuple[str, ...], Any] = {}

    def __call__(self, *labels: str) -> Any:
        if (child := self._children.get(labels)) is None:
            child = self._children[labels] = self._family.labels(*labels)
        return child
