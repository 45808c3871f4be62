"""One rule for reading: marks under the parts of a condition, however it is written."""

from typing import Any

import msgspec
import pytest

from router.cli.explain_text import rule_lines
from router.rules.explain import Explainer
from router.rules.scope import delivery_roots, event_scope
from router.rules.specs import Condition
from tests.builders import a_condition, a_delivery, a_rule, a_ruleset, an_event

PAYLOAD = {"a": "x", "n": 3, "none": None}


def lines(condition: Condition) -> list[str]:
    rule = msgspec.structs.replace(a_rule("r"), match=(condition,))
    event, delivery = an_event(payload=PAYLOAD), a_delivery()
    scope = event_scope(delivery_roots(delivery, {}), delivery, event, {})
    [reading] = Explainer(a_ruleset(rule)).explain("shop", event, scope)
    return list(rule_lines(reading))[3:]


@pytest.mark.parametrize(
    "text",
    [
        "payload.a == 'y' && payload.n",
        "payload.a == 'y'\n  && payload.n\n",
        "  payload.a   == 'y'   && payload.n",
    ],
)
def test_every_part_is_marked_where_it_begins(text: str) -> None:
    """Of folded, literal and plain texts, shown as one line."""
    head, marks, *_ = lines(Condition(text, a_condition(text).test))
    assert head.endswith("payload.a == 'y' && payload.n")
    assert marks.index("^1") == head.index("payload.a")
    assert marks.index("^2") == head.index("payload.n")
    assert marks[marks.index("^1") :].startswith("^1~~~~~~~~~~~~~~ ")
    assert "~" not in marks[marks.index("^2") :]


def a_group(source: str, item: Any) -> Condition:
    return msgspec.structs.replace(a_condition(item), source=source)


def test_items_of_a_group_are_marked_each_in_its_text() -> None:
    source = "any: [payload.none, payload.n > 5, payload.none]"
    group = {"any": ["payload.none", "payload.n > 5", "payload.none"]}
    head, marks, *_ = lines(a_group(source, group))
    assert head.index("payload.n >") == marks.index("^2")
    assert head.index("payload.none") == marks.index("^1")
    assert head.rindex("payload.none") == marks.index("^3")


def test_what_is_long_has_no_marks() -> None:
    text = " || ".join(f"payload.field_{n} == 'something'" for n in range(5))
    _, first, *_ = lines(Condition(text, a_condition(text).test))
    assert "^" not in first


def test_of_several_changes_each_is_reported() -> None:
    text = "payload.n > 5 || payload.none"
    *_, title, one, two = lines(Condition(text, a_condition(text).test))
    assert title == "    the smallest change, one of:"
    assert one == "      1 payload.n needs > 5, is 3"
    assert two == "      2 payload.none needs to be true, or not empty, is null"
