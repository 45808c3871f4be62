"""
What payloads have looked like, one after the other: which fields they had, and of what types.

Nothing that a payload says of a person is kept: of all values only names of states are, and keys
only where they look like names of fields.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from router.expressions.absent import JSON
from router.model.delivery import REDACTED_VALUE
from router.typing.outline import users_name

Written = str | list[Any] | dict[str, Any]
"""A shape as a definition has it (`router/typing/shapes.py`)."""

SEEN_MIN = 20
"""So often a word is seen, or a field that is sometimes absent, before it is written down."""
WORDS_MAX = 12
VARYING_MAX = 50
"""Fields of one object that are sometimes absent; with more of them, users name them."""
_FIELDS_MAX = 1_000
_PLACES_MAX = 200_000
_EVENTS_MAX = 1_000
_DEPTH_MAX = 16
_ELEMENTS_MAX = 1_000

_WORD = re.compile(r"(?!.*\d{5})[a-z][a-z0-9_.:-]{0,39}")
_STATES = re.compile(
    r"(?:state|status|type|kind|action|event|object|reason|level|severity|priority|urgency|mode"
    r"|method|result|outcome|conclusion|phase|stage|step|class|category|classification|topic"
    r"|environment|env|tier|plan|queue|visibility|scope|role|unit|interval|currency|gateway"
    r"|direction|operation|resolution|format)\Z",
    re.IGNORECASE,
)
"""Ends of the names of fields that hold the name of a state; any other may hold a person's."""
_PERSON = re.compile(
    r"(?:login|email|e_?mail_?address|mail|first_?name|last_?name|given_?name|family_?name"
    r"|full_?name|real_?name|display_?name|user_?name|nick_?name|phone(?:_?number)?|birthday)\Z",
    re.IGNORECASE,
)
"""Names of fields that people have: nothing below such an object is written down."""
_FIELD_NAME = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$.:-]{0,49}")
_NUMBERED = re.compile(r"\d{3}")
"""What a number or an id makes of a name: nobody writes it in a rule for all."""
_EVENT = re.compile(r"[A-Za-z][A-Za-z0-9_./: -]{0,79}")
_FORMS = (
    ("timestamp", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d\S*|:?\d\d)?(?: UTC)?")),
    ("date", re.compile(r"\d{4}-\d\d-\d\d")),
    ("money", re.compile(r"-?\d+\.\d\d")),
    ("url", re.compile(r"https?://\S+")),
    ("email", re.compile(r"[^@\s<>]+@[^@\s<>]+\.[A-Za-z]+")),
)


class ObservedPlace:
    """
    One place of many payloads. `seen` counts values, `objects` those that are objects; `left_out`:
    these had fields of which nothing is kept.
    """

    __slots__ = ("_forms", "_words", "fields", "item", "kinds", "left_out", "objects", "seen")

    def __init__(self) -> None:
        self.seen = self.objects = 0
        self.kinds: set[str] = set()
        self.fields: dict[str, ObservedPlace] = {}
        self.item: ObservedPlace | None = None
        self.left_out = False
        self._words: Counter[str] | None = Counter()
        self._forms: tuple[tuple[str, re.Pattern[str]], ...] = _FORMS

    def add_text(self, text: str, *, is_state: bool) -> None:
        """A text; it is kept if it may be one of a few names of states."""
        self._forms = tuple(form for form in self._forms if form[1].fullmatch(text))
        if not is_state or not _WORD.fullmatch(text):
            self._words = None
        if self._words is not None:
            self._words[text] += 1
            if len(self._words) > WORDS_MAX:
                self._words = None

    def shape(self, *, below_person: bool = False, is_payload: bool = False) -> Written:
        """
        All that was seen, as a shape; the same for the same payloads in any order. A whole payload
        is nobody's, though an order has an address too.
        """
        if self.item is not None and "array" in self.kinds:
            return self._joined([self.item.shape(below_person=below_person)], "array")
        person = below_person or (not is_payload and any(map(_PERSON.match, self.fields)))
        if fields := self._fields(below_person=person):
            return self._joined(fields, "object")
        words = self._words
        if words and not below_person and min(words.values()) >= SEEN_MIN:
            return self._joined({"known": sorted(words)}, "string")
        return "any" if self.kinds <= {"null"} else self._named(self.kinds)

    def _fields(self, *, below_person: bool) -> dict[str, Any]:
        varying = {n for n, place in self.fields.items() if place.seen < self.objects}
        users = len(varying) > VARYING_MAX
        kept = {
            f"{name}?" if name in varying else name: place.shape(below_person=below_person)
            for name, place in sorted(self.fields.items())
            if name not in varying or (not users and place.seen >= SEEN_MIN)
        }
        rest = {"rest": "any"} if self.left_out or len(kept) < len(self.fields) else {}
        return {"fields": kept} | rest if kept else {}

    def _joined(self, long: list[Any] | dict[str, Any], kind: str) -> Written:
        """The part that needs more than a word, and the names of all others."""
        others = self.kinds - {kind}
        if not others:
            return long
        as_mapping = {"items": long[0]} if isinstance(long, list) else long
        return as_mapping | {"type": self._named(others)}

    def _named(self, kinds: set[str]) -> str:
        form = self._forms[0][0] if self._forms and "string" in kinds else "string"
        plain = kinds - {"integer"} if {"integer", "number"} <= kinds else kinds
        order = ("boolean", "integer", "number", "string", "array", "object", "null")
        return " or ".join(form if name == "string" else name for name in order if name in plain)


class PayloadObserver:
    """Observes the payloads of one endpoint by event. What it holds is bounded."""

    def __init__(self) -> None:
        self.events: dict[str, ObservedPlace] = {}
        self._places = 0

    def add(self, event: str, payload: JSON) -> None:
        """One more payload; of an event whose name is none, or is one of too many, nothing."""
        if event in self.events or (len(self.events) < _EVENTS_MAX and _EVENT.fullmatch(event)):
            self._add(self.events.setdefault(event, ObservedPlace()), payload, "", 0)

    def _add(self, place: ObservedPlace, value: JSON, name: str, depth: int) -> None:
        place.seen += 1
        if value == REDACTED_VALUE:  # nobody knows what stood there
            return
        place.kinds.add(_kind_of(value))
        if isinstance(value, str):
            place.add_text(value, is_state=bool(_STATES.search(name)))
        elif isinstance(value, dict):
            place.objects += 1
            self._add_fields(place, value, name, depth)
        elif isinstance(value, list) and value and depth < _DEPTH_MAX:
            place.item = place.item or ObservedPlace()
            for one in value[:_ELEMENTS_MAX]:
                self._add(place.item, one, name, depth + 1)

    def _add_fields(
        self, place: ObservedPlace, value: Mapping[str, JSON], name: str, depth: int
    ) -> None:
        if users_name(name) or depth >= _DEPTH_MAX or not all(map(_FIELD_NAME.fullmatch, value)):
            place.left_out = True
            place.fields.clear()
        if place.left_out and not place.fields:
            return
        for key, one in value.items():
            if key in place.fields or self._has_room(place, key):
                self._add(place.fields.setdefault(key, ObservedPlace()), one, key, depth + 1)

    def _has_room(self, place: ObservedPlace, key: str) -> bool:
        """Whether this field is one more to be kept."""
        full = len(place.fields) >= _FIELDS_MAX or self._places >= _PLACES_MAX
        if full or _NUMBERED.search(key):
            place.left_out = True
            return False
        self._places += 1
        return True

    def payloads(self) -> Iterator[dict[str, Any]]:
        """The entries of `payloads:`, by the events' names."""
        for event, place in sorted(self.events.items()):
            whole = place.shape(is_payload=True)
            shape = whole if isinstance(whole, dict) and "fields" in whole else {}
            yield {"for": event, "seen": place.seen, **shape}


_KINDS: tuple[tuple[type, str], ...] = (
    (type(None), "null"),
    (bool, "boolean"),
    (int, "integer"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


def _kind_of(value: JSON) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "number")
