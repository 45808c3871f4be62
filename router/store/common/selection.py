"""Selectors as SQL: one reading of them for lists, plans and the operator's verbs, in any store."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from router.errors import AmbiguousId, UsageError
from router.model.operations import Change
from router.store.common.columns import MARK
from router.store.common.death_causes import CORRUPT
from router.store.common.states import DELIVERY_STATE, TURN_HALTED
from router.store.values import Selector

SHORTEST_PREFIX = 4
PAGE = 50
"""Rows of a list whose selector sets no limit."""


def limit_of(selector: Selector) -> int:
    """How many rows a list of it has."""
    return PAGE if selector.limit is None else selector.limit


Condition = tuple[str, list[Any]]
"""SQL with a `?` for each of the values."""

ALL: Condition = ("TRUE", [])
NONE: Condition = ("FALSE", [])


class Selection(ABC):
    """
    What a selector says, as conditions on `j` jobs and `d` deliveries. A store says the rest in
    words of its own tables.
    """

    named: ClassVar[str]
    """That a delivery `d` has an event of this name, between two marks."""
    earliest: ClassVar[str]
    """When `j` or its delivery `d` was made, whichever was before."""
    of_delivery: ClassVar[str]
    """FROM and WHERE of jobs `j` of the delivery `d`."""
    delivered: ClassVar[str]
    """That `d` is the delivery of jobs `j` for which a condition, `{}`, holds."""
    idle: ClassVar[str]
    """That `j` is open and does not run."""
    delivery_id: ClassVar[str]
    """The id of the delivery of `j`."""
    halts: ClassVar[str]
    """That `j` is of a run with this turn."""
    newer: ClassVar[str]
    """FROM and WHERE of runs of the same as `j` that replays have made since."""

    def __init__(self, selector: Selector) -> None:
        if selector.where is not None:  # no SQL knows it; without it more would be selected
            raise UsageError("the store does not evaluate expressions")
        self.selector = selector

    @abstractmethod
    def has_id(self, column: str, prefix: str, kind: str) -> Condition:
        """That an id is this text, or begins with it if it is long enough."""

    @abstractmethod
    def before(self, column: str) -> Condition:
        """That an id is lower than the selector's `before`."""

    def within(self, table: str, column: str, since: int | None, until: int | None) -> Condition:
        """That this time of a row is in this span, which may be open."""
        time = f"{table}.{column}"
        return all_of([given(f"{time} >= ?", since), given(f"{time} < ?", until)])

    @abstractmethod
    def is_in(self, state: str) -> str:
        """That `j` is in this state."""

    @abstractmethod
    def died_so(self) -> Condition:
        """That `j` is dead, of the selector's cause."""

    def text(self, text: str | None) -> str | None:
        """Text as the store keeps it."""
        return text

    def deliveries(self) -> Condition:
        """The condition on `d` that is put on deliveries."""
        one = self.selector
        marked = None if one.event is None else f"{MARK}{self.text(one.event)}{MARK}"
        parts = [
            self.within("d", "received_at", one.since, one.until),
            given("d.endpoint = ?", self.text(one.endpoint)),
            self.before("d.id"),
            any_of([self._is_delivery(id_) for id_ in one.ids]),
            given("d.state = ?", DELIVERY_STATE.get(one.state or "")),
            given(self.named, marked),
        ]
        state = None if one.state in DELIVERY_STATE else one.state
        sql, values = all_of(self._of_jobs(state))
        if sql != "TRUE":
            parts.append((f"EXISTS (SELECT 1 {self.of_delivery} AND {sql})", values))
        return all_of(parts)

    def jobs(self, *, whole: bool = False) -> Condition:
        """The condition on `j` and its delivery `d` put on jobs; `whole`: see a store's page."""
        one = self.selector
        return all_of(
            [
                self.within("j", "created_at", one.since, None if whole else one.until),
                given(f"{self.earliest} < ?", one.until if whole else None),
                self.before("j.id"),
                given("d.endpoint = ?", self.text(one.endpoint)),
                given("j.event = ?", self.text(one.event)),
                any_of([self._is_job(id_) for id_ in one.ids]),
                *self._of_jobs(one.state),
            ]
        )

    def changeable(self, change: Change) -> Condition:
        """The condition on `j` that it can be changed so; see the verbs of a store."""
        if change == "revive":
            named, values = self._named()
            return (
                f"{self._revivable()} AND (NOT EXISTS (SELECT 1 {self.newer}) OR {named})",
                values,
            )
        if self.selector.ids or self.selector.state == "dead":  # by who knows what they halt
            halts = f"{self.is_in('dead')} AND {self.halts.format(TURN_HALTED)}"
            return f"({self.idle} OR {halts})", []
        return self.idle, []

    def changed(self, change: Change) -> Condition:
        """The condition on `j` and `d` that this verb changes it."""
        return all_of([self.changeable(change), self.jobs()])

    def made_again(self) -> Condition:
        """The condition on `j` and `d` that `revive` passes over it: see `changeable`."""
        named, values = self._named()
        sql = f"{self._revivable()} AND EXISTS (SELECT 1 {self.newer}) AND NOT {named}"
        return all_of([(sql, values), self.jobs()])

    def _of_jobs(self, state: str | None) -> list[Condition]:
        """What is said of jobs, whether they are listed or their deliveries."""
        one = self.selector
        return [
            given("j.rule = ?", self.text(one.rule)),
            given("j.replay = (SELECT n FROM replays WHERE id = ?)", self.text(one.replay)),
            ALL if one.cause is None else self.died_so(),
            ALL if state is None else (self.is_in(state), []),
        ]

    def _revivable(self) -> str:
        return f"{self.is_in('dead')} AND coalesce(j.reason, '') != '{CORRUPT}'"

    def _named(self) -> Condition:
        """A job that is named by its own id is meant, whatever was made of it."""
        if self.selector.state is not None:
            return NONE
        jobs = [self._is_job(id_) for id_ in self.selector.ids if id_.startswith("job_")]
        return any_of(jobs) if jobs else NONE

    def _is_delivery(self, prefix: str) -> Condition:
        if prefix.startswith("job_"):
            sql, values = self.has_id("j.id", prefix, "job")
            return self.delivered.format(sql), values
        return self.has_id("d.id", prefix, "dlv")

    def _is_job(self, prefix: str) -> Condition:
        by_delivery = self.has_id(self.delivery_id, prefix, "dlv")
        if prefix.startswith("dlv_"):
            return by_delivery
        by_job = self.has_id("j.id", prefix, "job")
        return by_job if prefix.startswith("job_") else any_of([by_job, by_delivery])


def given(sql: str, value: str | int | None) -> Condition:
    """The condition on a value that a selector may leave open."""
    return ALL if value is None else (sql, [value])


def all_of(parts: Sequence[Condition]) -> Condition:
    """The condition that all of these hold."""
    used = [part for part in parts if part[0] != "TRUE"]
    return " AND ".join(sql for sql, _ in used) or "TRUE", [v for _, vs in used for v in vs]


def any_of(parts: Sequence[Condition]) -> Condition:
    """The condition that one of these holds; of none at all: none is asked for."""
    if not parts:
        return ALL
    sql = " OR ".join(f"({sql})" for sql, _ in parts)
    return f"({sql})", [v for _, values in parts for v in values]


def full_prefix(prefix: str, kind: str) -> str | None:
    """
    A prefix with its kind; None: too short to mean any. A whole id is always long enough to be
    tried as itself.
    """
    full = prefix if prefix.startswith(f"{kind}_") else f"{kind}_{prefix}"
    return full if len(full) >= len(kind) + 1 + SHORTEST_PREFIX else None


def only(found: Sequence[str], prefix: str, kind: str) -> str | None:
    """
    The one id that a prefix means, of the first two that it fits.

    Raises:
        AmbiguousId: it fits several, or is too short to tell.
    """
    if len(found) > 1 and found[0] != prefix:
        raise AmbiguousId(f"{prefix} fits several; write more of it")
    if not found and full_prefix(prefix, kind) is None:
        raise AmbiguousId(
            f"{prefix!r} is too short: write {SHORTEST_PREFIX} or more characters after {kind}_"
        )
    return found[0] if found else None
