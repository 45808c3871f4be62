"""A search by a condition that another process evaluates: its pages, and how much is enough."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

import msgspec

from router.errors import ConditionEnded
from router.legible import exact
from router.operator.requests import LOCAL, By
from router.operator.where import Where
from router.rules.ruleset import Ruleset
from router.store.values import Page, Selector, Stored

LIMIT_S, MEMORY = 2.0, 256 * 1024 * 1024
"""Seconds of evaluation for a question, and bytes for the process that evaluates."""

T = TypeVar("T")
Stop = Callable[[int, int | None, Stored], bool]
"""
Asked before each delivery of a page: whether the page ends there, of which the first is no matter.
It gets how many were looked at, when the last of them was received, and the next one.
"""


class FoundPage(msgspec.Struct, Generic[T], frozen=True):
    """
    What fits in a page of a search. It goes on after `reached`, None: that was all. `looked`
    deliveries were looked at, the last of them received `at`. On `failed` events the condition
    could not be evaluated, `reason` says why on the first. All that took `seconds`.
    """

    found: tuple[T, ...]
    reached: str | None
    looked: int = 0
    at: int | None = None
    failed: int = 0
    reason: str | None = None
    seconds: float = 0.0


class PageAsked(msgspec.Struct, frozen=True, tag=True):
    """A page of a `Search`, or for a `subject` of a `SubjectSearch`, as these were made."""

    selector: Selector
    after: str | None
    subject: bool = False
    jobs: bool = False
    originals: bool = False
    newest: bool = False
    most: int | None = None


class TryAsked(msgspec.Struct, frozen=True, tag=True):
    """The Trace of a condition on one event of a delivery; its values are JSON texts, cut."""

    delivery: str
    number: int
    text: str


class Stopped(Exception):
    """The process was ended, the text says when; so far it had come in the page."""

    def __init__(self, when: str, looked: int = 0, at: int | None = None) -> None:
        super().__init__(when)
        self.looked, self.at = looked, at


class Evaluator(Protocol):
    """Evaluates operators' conditions where that stops nobody."""

    async def ask(
        self, asked: PageAsked | TryAsked, kind: type[T], ruleset: Ruleset, by: By, within_s: float
    ) -> T:
        """Raises ConditionBusy, StoreUnavailable; Stopped: it took longer, or too much memory."""


class Pages:
    """Pages of one search: in LIMIT_S altogether, or each, where they are steps of our own."""

    def __init__(self, evaluator: Evaluator, where: Where, ruleset: Ruleset, by: By) -> None:
        self._evaluator, self._where, self._ruleset, self._by = evaluator, where, ruleset, by
        self._left_s, self._looked = LIMIT_S, 0
        self._at: int | None = None

    async def page(self, asked: PageAsked, kind: type[FoundPage[T]]) -> FoundPage[T]:
        """What fits. Raises ConditionEnded, and as Evaluator."""
        within_s = LIMIT_S if self._by is LOCAL else max(0.0, self._left_s)
        try:
            page = await self._evaluator.ask(asked, kind, self._ruleset, self._by, within_s)
        except Stopped as stopped:
            self._count(stopped.looked, stopped.at)
            far = "" if self._at is None else f", up to {exact(self._at)}"
            far = far.replace("up", "back") if asked.newest else far
            raise ConditionEnded(
                f"the condition was ended {stopped}: deliveries looked at: {self._looked:,}{far}; "
                "narrow it with --since, --until, --endpoint or --event, or write a simpler one"
            ) from None
        self._left_s -= page.seconds
        self._count(page.looked, page.at)
        self._where.failed += page.failed
        self._where.reason = self._where.reason or page.reason
        return page

    def _count(self, looked: int, at: int | None) -> None:
        self._looked, self._at = self._looked + looked, at or self._at


async def fitting(
    page: Page,
    fits: Callable[[Stored], Awaitable[T | None]],
    stop: Stop | None = None,
    most: int | None = None,
) -> FoundPage[T]:
    """
    What of each delivery `fits`, up to so many: evaluated in this process. Unless it may `stop`
    others have their turn between two of them.
    """
    found: list[T] = []
    at: int | None = None
    for looked, stored in enumerate(page.found):
        ends = stop is not None and stop(looked, at, stored)
        if looked and (ends or len(found) == most):
            return FoundPage(tuple(found), page.found[looked - 1].at, looked, at)
        if stop is None:
            await asyncio.sleep(0)
        if (left := await fits(stored)) is not None:
            found.append(left)
        at = stored.delivery.received_at
    return FoundPage(tuple(found), page.reached, len(page.found), at)
