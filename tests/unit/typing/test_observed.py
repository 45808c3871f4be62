"""What is learned from payloads, and what never is: anything of a person."""

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from router.typing.learned import parse_learned
from router.typing.observed import SEEN_MIN, VARYING_MAX, PayloadObserver
from tests.chance import examples
from tests.misfits import misfit

OFTEN = SEEN_MIN


def learned(payloads: Iterable[Any], event: str = "e") -> dict[str, Any]:
    observer = PayloadObserver()
    for payload in payloads:
        observer.add(event, payload)
    (entry,) = observer.payloads()
    return entry


def fields(*payloads: Any, times: int = OFTEN) -> dict[str, Any]:
    found: dict[str, Any] = learned(payloads * times)["fields"]
    return found


def test_types_and_what_texts_show() -> None:
    payload = {
        "id": 1,
        "rate": 0.5,
        "paid": True,
        "total": "12.50",
        "at": "2026-03-01T10:00:00Z",
        "day": "2026-03-01",
        "site": "https://example.com/x",
        "to": "ada@example.com",
        "note": "thank you",
        "gone": None,
    }
    assert fields(payload) == {
        "at": "timestamp",
        "day": "date",
        "gone": "any",
        "id": "integer",
        "note": "string",
        "paid": "boolean",
        "rate": "number",
        "site": "url",
        "to": "email",
        "total": "money",
    }


def test_of_what_was_redacted_nothing_is_learned() -> None:
    assert fields({"who": "[redacted]", "n": 1}) == {"n": "integer", "who": "any"}
    assert fields({"who": "[redacted]"}, {"who": {"id": 1}})["who"] == {"fields": {"id": "integer"}}


def test_what_differs_is_joined() -> None:
    assert fields({"a": 1}, {"a": 0.5}, {"a": None}) == {"a": "number or null"}
    assert fields({"a": "12.50"}, {"a": ""}) == {"a": "string"}
    assert fields({"a": []}, {"a": [{"b": 1}]}) == {"a": [{"fields": {"b": "integer"}}]}
    either = fields({"a": [1]}, {"a": None}, {"a": "x y"})
    assert either == {"a": {"items": "integer", "type": "string or null"}}
    assert fields({"a": {"b": 1}}, {"a": None}) == {
        "a": {"fields": {"b": "integer"}, "type": "null"}
    }


def test_a_field_that_is_sometimes_absent_is_marked_and_a_rare_one_left_out() -> None:
    assert fields({"a": 1}, {"a": 1, "b": 2}) == {"a": "integer", "b?": "integer"}
    entry = learned([{"a": 1}, {"a": 1, "b": 2}])
    assert entry["fields"] == {"a": "integer"}
    assert entry["rest"] == "any"


def test_a_few_names_of_states_are_known_values() -> None:
    assert fields({"status": "paid"}, {"status": "open"}) == {"status": {"known": ["open", "paid"]}}
    once_too_few = [{"status": "paid"}] * (OFTEN - 1)
    assert learned(once_too_few)["fields"] == {"status": "string"}
    rare = [{"status": "paid"}] * OFTEN + [{"status": "lost"}]
    assert learned(rare)["fields"] == {"status": "string"}
    many = [{"status": f"s{n}"} for n in range(13)] * OFTEN
    assert learned(many)["fields"] == {"status": "string"}
    assert fields({"status": "Paid"}) == {"status": "string"}


def test_a_name_of_somebody_is_no_state() -> None:
    octocat = {"sender": {"login": "octocat", "type": "octocat"}, "by": "octocat", "type": "a"}
    assert fields(octocat) == {
        "by": "string",
        "sender": {"fields": {"login": "string", "type": "string"}},
        "type": {"known": ["a"]},
    }


def test_a_whole_payload_is_no_person() -> None:
    order = {"email": "ada@example.com", "status": "paid"}
    assert fields(order)["status"] == {"known": ["paid"]}
    assert fields({"buyer": order})["buyer"]["fields"]["status"] == "string"


def test_more_than_fifty_varying_fields_are_an_open_map() -> None:
    names = [f"key_{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(VARYING_MAX + 1)]
    many = [{"id": 1, "counts": {name: 1}} for name in names] * OFTEN
    assert learned(many)["fields"] == {"counts": "object", "id": "integer"}
    few = [{"counts": {name: 1}} for name in names[:-1]] * OFTEN
    assert len(learned(few)["fields"]["counts"]["fields"]) == VARYING_MAX


def test_names_that_users_give_are_not_written() -> None:
    maps = {"metadata": {"octocat": "x"}, "votes": {"ada@example.com": 1, "id": 2}}
    assert fields(maps) == {"metadata": "object", "votes": "object"}
    numbered = fields({"issue": {"key": "x y", "customfield_10010": "x"}})
    assert numbered == {"issue": {"fields": {"key": "string"}, "rest": "any"}}


CANARIES = {
    "email": "canary@example.com",
    "name": "Canary Miller",
    "login": "canary",
    "phone": "+4915112345678",
    "token": "sk_live_canary0123456789",
    "note": "call canary at 015112345678",
    "id": "canary-17",
    "by": "canary",
}


def test_no_value_of_a_person_is_written() -> None:
    """As values, as keys, in lists, however often they come."""
    payload = {
        **CANARIES,
        "user": CANARIES,
        "people": [CANARIES, {"owner": CANARIES}],
        "texts": list(CANARIES.values()),
        "by_name": dict.fromkeys(CANARIES.values(), 1),
        "assignee": {"user_name": "x", "type": "canary", "status": "canary"},
    }
    text = json.dumps(learned([payload] * 50)).lower()
    assert "canary" not in text
    assert "4915112345678" not in text
    assert "miller" not in text


def test_events_are_told_apart_and_those_without_a_name_left_out() -> None:
    observer = PayloadObserver()
    for event in ("b", "a", "b", "canary@example.com", ""):
        observer.add(event, {"x": 1})
    assert [(one["for"], one["seen"]) for one in observer.payloads()] == [("a", 1), ("b", 2)]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["1.00"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "status", "meta", "c d"]), inner, max_size=4)
    ),
    max_leaves=12,
)
_payloads = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "type"]), _json), min_size=1, max_size=5
)


def texts(shape: Any) -> Any:
    """As the file's reader gives it: every scalar is a text."""
    if isinstance(shape, dict):
        return {name: texts(one) for name, one in shape.items()}
    return [texts(one) for one in shape] if isinstance(shape, list) else str(shape)


@given(_payloads, st.integers(1, SEEN_MIN))
@settings(max_examples=examples(200))
def test_every_payload_fits_what_was_learned_of_it(payloads: list[Any], times: int) -> None:
    entry = learned(payloads * times)
    kind = parse_learned(texts({"payloads": [entry]})).shapes.payload("e")
    assert kind is not None
    for payload in payloads:
        assert misfit(kind, payload) is None


@given(_payloads)
@settings(max_examples=examples(200))
def test_the_order_of_deliveries_changes_nothing(payloads: list[Any]) -> None:
    assert learned(payloads) == learned(payloads[::-1])
