"""What the handlers of pages work with: the same questions and verbs as the API's."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from router.clock import Clock
from router.errors import NotFound, UsageError
from router.model.delivery import Delivery
from router.model.selector import FIELDS, Criteria
from router.operator.answers import Deliveries, Jobs
from router.operator.criteria import criteria
from router.operator.protocol import Running
from router.operator.questions import StoreQuestions
from router.operator.requests import By, ReplayRequest
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef
from router.rules.ruleset import Ruleset
from router.store.values import Selector
from router.web.admin.callers import Callers
from router.web.admin.query import (
    CURSOR,
    LIMIT,
    SELECTOR,
    STATE,
    WHERE,
    Query,
    QueryParameter,
)
from router.web.pages.assets import Assets
from router.web.pages.dead_letters import DeadLetterCount
from router.web.pages.frame import Frame
from router.web.pages.request import Form, PageRequest, Shown, see_other
from router.web.pages.sessions import Sessions
from router.web.signal import Signal

SELECTED = tuple([name for name in FIELDS if name not in ("limit", "var")])
"""The fields of the one selector that go from a page into a plan, and from there into a verb."""

NAMES_SHOWN = 300

Listing = Callable[[Selector, str | None, By], Awaitable[Deliveries | Jobs]]
"""A question whose answer is a page of a list."""


class Services(msgspec.Struct, frozen=True):
    """
    What all pages work with. `name` makes a new name for a replay; `trying` is held while a
    condition is tried; `make_test` makes a delivery a test of rules, in YAML.
    """

    questions: StoreQuestions
    verbs: StoreVerbs
    running: Running
    live: LiveRef
    signal: Signal
    clock: Clock
    frame: Frame
    name: Callable[[], str]
    callers: Callers
    sessions: Sessions
    assets: Assets
    trying: asyncio.Lock
    make_test: Callable[[Ruleset, Delivery], str]
    dead: DeadLetterCount


class PageContext(Services, frozen=True):
    """Given to every handler of a page: the request too, and what its form sent."""

    request: PageRequest
    form: Form

    @property
    def bodies(self) -> bool:
        """Whether payloads may be shown."""
        return self.request.user.bodies

    def page(self, template: str, status: int = 200, **values: Any) -> Shown:
        """A page for who asks."""
        shared = {
            "path": self.request.scope["path"],
            "now": self.clock.now(),
            "bodies": self.bodies,
        }
        return self.frame.page(template, self.request.known, status, **shared, **values)

    def query(self, *allowed: QueryParameter) -> Query:
        """
        What the address asks.

        Raises:
            UsageError: it asks for what is not known.
        """
        return Query(self.request.scope["query_string"], allowed, self.clock.now())

    async def listing(self, name: str, states: tuple[str, ...], ask: Listing) -> Shown:
        """A page of what the selector of the address finds; a wrong one is said beside its form."""
        error, found, cursor, given = None, None, None, dict[str, str]()
        ruleset = self.live.current.ruleset
        try:
            query = self.query(*SELECTOR, WHERE, STATE, LIMIT, CURSOR)
            given = {n: text for n in ("id", *SELECTED) if (text := query.text(n)) is not None}
            cursor = query.text("cursor")
            selector = query.selector(states)
            found = self.request.visible(await ask(selector, cursor, self.request.by))
        except (UsageError, NotFound) as wrong:
            error = str(wrong)
        return self.page(
            f"{name}.html",
            400 if error else 200,
            found=found,
            names=await self.questions.full_names(getattr(found, "jobs", ())),
            asked={n: given.get(n, "") for n in ("id", *SELECTED)},
            error=error,
            # The newest. A condition reads bodies: too much work for every second.
            live=not (error or cursor or "where" in given),
            states=states,
            endpoints=list(ruleset.endpoints),
            rules=[rule.id for rule in ruleset.rules[:NAMES_SHOWN]],
            more=urlencode({**given, "cursor": found.next}) if found and found.next else None,
            plan=urlencode({n: v for n, v in given.items() if n != "id"}),
        )

    async def replay(self, ids: tuple[str, ...], selector: Criteria | None = None) -> Shown:
        """Replay as the form wants it: under its name, perhaps once more."""
        name = self.form.get("name") or self.name()
        recorded, again = (self.form.get(one) == "yes" for one in ("recorded", "again"))
        request = ReplayRequest(ids, selector, recorded=recorded, name=name, again=again)
        return see_other(f"/replays/{(await self.verbs.replay(request, self.request.by)).id}")


def selector_of(given: Mapping[str, Any]) -> Criteria:
    """
    The fields of a form as the selector of a verb.

    Raises:
        UsageError: a time is none, or nothing is selected.
    """
    chosen = criteria({n: given[n] for n in SELECTED if given.get(n)}, _milliseconds)
    if msgspec.structs.replace(chosen, until=None) == Criteria():
        raise UsageError("select some first: an endpoint, a rule, a state, a time")
    return chosen


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise UsageError("since and until are times in Unix milliseconds here")
    return int(text)
