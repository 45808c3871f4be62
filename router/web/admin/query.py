"""Query parameters of the admin API: the one selector, pages, and nothing that is not known."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, get_args
from urllib.parse import parse_qsl

import msgspec

from router.errors import UsageError
from router.model.delivery import DeliveryState
from router.model.job import JobState
from router.model.selector import ABOUT, FIELDS
from router.model.selector import SPAN as TIMES
from router.operator.criteria import criteria
from router.store.time_text import instant
from router.store.values import Selector
from router.suggest import did_you_mean

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
FIELDS_MAX = LIMIT_MAX + 30
JOB_STATES: tuple[str, ...] = get_args(JobState)
DELIVERY_STATES: tuple[str, ...] = (*get_args(DeliveryState), *JOB_STATES)


class QueryParameter(NamedTuple):
    """A query parameter that a route takes."""

    name: str
    about: str


LIMIT = QueryParameter("limit", f"At most so many; default {LIMIT_DEFAULT}, most {LIMIT_MAX}.")
CURSOR = QueryParameter("cursor", "The `next` of the page before.")
SPAN = tuple([QueryParameter(n, f"{ABOUT[n]} Or Unix milliseconds.") for n in TIMES])
STATE = QueryParameter("state", ABOUT["state"])
WHERE = QueryParameter("where", ABOUT["where"])
VAR = QueryParameter("var", "Values that `where` reads as var.NAME: a JSON object.")
SELECTOR = (
    QueryParameter("id", "An id or its first 4 characters or more; several with commas or again."),
    *(QueryParameter(n, ABOUT[n]) for n in ("endpoint", "rule", "event")),
    *SPAN,
    *(QueryParameter(n, ABOUT[n]) for n in ("replay", "cause")),
)


class Query:
    """
    The query string of a request. `now` is Unix milliseconds.

    Raises:
        UsageError: it is malformed, or has what the route does not take.
    """

    def __init__(self, query_string: bytes, allowed: Iterable[QueryParameter], now: int) -> None:
        self._now = now
        self._values = _values(query_string, [parameter.name for parameter in allowed])

    def text(self, name: str) -> str | None:
        """A parameter as it stands; None: it is not given, or empty."""
        return self._values.get(name) or None

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number, at most `most`."""
        if (text := self.text(name)) is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise UsageError(f"{name} is a whole number")
        return min(int(text), most)

    def limit(self) -> int:
        """How many are wanted."""
        return max(1, self.number("limit", LIMIT_DEFAULT, LIMIT_MAX))

    def time(self, name: str) -> int | None:
        """A time in Unix milliseconds."""
        text = self.text(name)
        return None if text is None else _instant(text, self._now)

    def span(self) -> tuple[int | None, int | None, int]:
        """Since, until (Unix milliseconds) and how many at most."""
        return self.time("since"), self.time("until"), self.limit()

    def selector(self, states: tuple[str, ...] = ()) -> Selector:
        """The selector; `states` are those that it may name."""
        if (state := self.text("state")) is not None and state not in states:
            raise UsageError(f"no state {state!r}; {_hint(state, states)}")
        given: dict[str, Any] = {name: self.text(name) for name in FIELDS if name != "limit"}
        given["var"] = _object(given["var"])
        ids = tuple(filter(None, (self.text("id") or "").split(",")))
        chosen = criteria(given, lambda text: _instant(text, self._now))
        return Selector.of(msgspec.structs.replace(chosen, limit=self.limit()), ids)


def _object(text: str | None) -> dict[str, Any] | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=dict[str, Any])
    except (ValueError, RecursionError):
        raise UsageError('var is a JSON object: {"email": "ann@example.com"}') from None


def _instant(text: str, now: int) -> int:
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    return instant(text, now)


def _values(query_string: bytes, allowed: list[str]) -> Mapping[str, str]:
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=FIELDS_MAX,
            errors="strict",
        )
    except ValueError:
        raise UsageError("the query string is malformed") from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name not in allowed:
            raise UsageError(f"no parameter {name[:60]!r}; {_hint(name, allowed)}")
        if name in values and name != "id":
            raise UsageError(f"{name} is given twice")
        values[name] = f"{values[name]},{value}" if name in values else value
    return values


def _hint(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return did_you_mean(name[:60], names) or f"known are: {', '.join(names) or 'none'}"
