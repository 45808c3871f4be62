"""What the handlers of pages work with: the same questions and verbs as the API's."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from router.clock import Clock
from router.errors import UsageError
from router.operator import By
from router.rules.live import LiveRef
from router.web.admin.asking import Query, QueryParameter
from router.web.admin.callers import Callers
from router.web.admin.reading import Questions
from router.web.feed import Feed
from router.web.pages.assets import Assets
from router.web.pages.frame import Frame
from router.web.pages.request import Form, PageRequest, Shown
from router.web.pages.sessions import Sessions
from router.web.ports import OperatorPort

SELECTED = ("endpoint", "rule", "event", "state", "since", "until", "where", "replay", "cause")
"""The fields of the one selector that go from a page into a plan, and from there into a verb."""

NAMES_SHOWN = 300


class Services(msgspec.Struct, frozen=True):
    """
    What all pages work with. `name` makes a new name for a replay; `trying` is held while a
    condition is tried.
    """

    reading: Questions
    operator: OperatorPort
    live: LiveRef
    feed: Feed
    clock: Clock
    frame: Frame
    name: Callable[[], str]
    callers: Callers
    sessions: Sessions
    assets: Assets
    trying: asyncio.Lock


class PageContext(Services, frozen=True):
    """Given to every handler of a page: the request too, and what its form sent."""

    request: PageRequest
    form: Form

    @property
    def bodies(self) -> bool:
        """Whether payloads may be shown."""
        return self.request.user.bodies

    @property
    def by(self) -> By:
        """For the audit."""
        return self.request.by

    def page(self, template: str, status: int = 200, **values: Any) -> Shown:
        """A page for who asks."""
        known, path, now = self.request.known, self.request.scope["path"], self.clock.now()
        shared = {"path": path, "now": now, "bodies": self.bodies}
        return self.frame.page(template, known, status, **shared, **values)

    def query(self, *allowed: QueryParameter) -> Query:
        """
        What the address asks.

        Raises:
            UsageError: it asks for what is not known; or by a condition, which tells what is in a
                payload, and who asks may not see payloads.
        """
        query = Query(self.request.scope["query_string"], allowed, self.clock.now())
        if not self.bodies and query.text("where") is not None:
            raise UsageError("this token may not see payloads, so it may not search in them")
        return query

    def replay_of(self) -> dict[str, Any]:
        """How a replay was asked for by the form: under which name, and whether once more."""
        name = self.form.get("name") or self.name()
        return {"name": name, "again": self.form.get("again") == "yes"}

    def names(self) -> dict[str, list[str]]:
        """What a selector can choose from."""
        ruleset = self.live.current.ruleset
        return {
            "endpoints": list(ruleset.endpoints),
            "rules": [rule.id for rule in ruleset.rules[:NAMES_SHOWN]],
        }


def selector_body(given: dict[str, str]) -> dict[str, Any]:
    """
    The fields of a form as the selector of a verb.

    Raises:
        UsageError: a time is none, or nothing is selected.
    """
    selector: dict[str, Any] = {n: given[n] for n in SELECTED if given.get(n)}
    for name in ("since", "until"):
        if name in selector:
            text = selector[name]
            if not (text.isascii() and text.isdigit() and len(text) < 16):
                raise UsageError(f"{name} is a time in Unix milliseconds here")
            selector[name] = int(text)
    if not set(selector) - {"until"}:
        raise UsageError("select some first: an endpoint, a rule, a state, a time")
    return selector
