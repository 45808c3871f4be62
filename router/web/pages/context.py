"""What the pages ask and with what they act: the same questions and verbs as the API's."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from router.clock import Clock
from router.errors import UsageError
from router.rules.live import LiveRef
from router.web.admin.asking import Query, QueryParameter
from router.web.admin.call import Route, RouteAnswer
from router.web.admin.reading import Questions
from router.web.feed import Feed
from router.web.pages.frame import Frame
from router.web.pages.visit import Visit
from router.web.ports import OperatorPort

SELECTED = ("endpoint", "rule", "event", "state", "since", "until", "where", "replay", "cause")
"""The fields of the one selector that go from a page into a plan, and from there into a verb."""

NAMES_SHOWN = 300


class Desk(NamedTuple):
    """
    Handed to every group of pages. `name` makes a new name for a replay; `routes` are the API's.
    """

    reading: Questions
    operator: OperatorPort
    live: LiveRef
    feed: Feed
    clock: Clock
    frame: Frame
    name: Callable[[], str]
    routes: Sequence[Route] = ()

    def page(self, template: str, visit: Visit, status: int = 200, **values: Any) -> RouteAnswer:
        """A page for this visitor."""
        now = self.clock.now()
        return self.frame.page(
            template, visit.known, status, path=visit.path, now=now, bodies=visit.bodies, **values
        )

    def query(self, visit: Visit, *allowed: QueryParameter) -> Query:
        """
        What the address asks.

        Raises:
            UsageError: it asks for what is not known.
        """
        return Query(visit.query_string, allowed, self.clock.now())

    def replay_of(self, visit: Visit) -> dict[str, Any]:
        """How a replay was asked for by a form: under which name, and whether once more."""
        name = visit.form.get("name") or self.name()
        return {"name": name, "again": visit.form.get("again") == "yes"}

    def names(self) -> dict[str, list[str]]:
        """What a selector can choose from."""
        ruleset = self.live.current.ruleset
        return {
            "endpoints": list(ruleset.endpoints),
            "rules": [rule.id for rule in ruleset.rules[:NAMES_SHOWN]],
        }


def unquoted(visit: Visit, query: Query) -> None:
    """
    What a condition holds for tells what is in a payload.

    Raises:
        UsageError: a condition is given by somebody who may not see payloads.
    """
    if query.text("where") is not None and not visit.bodies:
        raise UsageError("this token may not see payloads, so it may not search in them")


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
