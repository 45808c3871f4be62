"""Learned shapes over what is known of a sender."""

from typing import Any

import pytest

from router.typing.lattice import ANY, EVERYTHING, NULL, NUMBER, TEXT, Type
from router.typing.learned import ENOUGH, LearnedShapes, ShapesAsSeen, parse_learned
from router.typing.shapes import Shapes, parse_shapes

FEW, MANY = str(ENOUGH - 1), str(ENOUGH)


def learned(fields: Any, seen: str = MANY, **more: Any) -> LearnedShapes:
    return parse_learned({"payloads": [{"for": "e", "seen": seen, "fields": fields, **more}]})


def documented(fields: Any) -> Shapes:
    return parse_shapes({"payloads": [{"for": "e", "fields": fields}]})


def payload(known: Shapes, *files: LearnedShapes, whole: bool = True, typed: bool = True) -> Type:
    found = ShapesAsSeen(known, files, whole=whole, typed=typed).payload("e")
    assert found is not None
    return found


def test_a_field_that_came_is_known_with_what_it_held() -> None:
    found = payload(documented({"a": "string"}), learned({"a": "string", "b": "integer"}))
    assert found.fields["b"].surely(NUMBER)
    assert not found.partial


@pytest.mark.parametrize(("seen", "typed"), [(FEW, True), (MANY, False)])
def test_of_few_payloads_and_when_serving_only_names_are_learned(seen: str, *, typed: bool) -> None:
    fields = {"a": "string", "b": {"fields": {"c": "integer"}}}
    found = payload(documented({"a": "string"}), learned(fields, seen), typed=typed)
    assert found.fields["b"].kinds == EVERYTHING
    assert found.fields["b"].fields["c"] is ANY
    alone = payload(Shapes(()), learned(fields, seen), typed=typed)
    assert alone.partial
    assert alone.fields["a"] is ANY


def test_what_is_documented_is_widened_and_never_narrowed() -> None:
    known = documented({"a": "timestamp", "b": {"values": ["x"]}, "c": {"known": ["x"]}})
    seen = {"a": "string or null", "b": {"known": ["y"]}, "c": {"known": ["y"]}}
    found = payload(known, learned(seen)).fields
    assert found["a"].kinds & NULL
    assert found["a"].stated
    assert found["a"].format is None
    assert found["b"].texts is None
    assert found["c"].known == {"x", "y"}
    same = payload(known, learned({"a": "timestamp"})).fields["a"]
    assert (same.format, same.stated) == ("timestamp", False)


def test_an_object_where_a_text_was_documented_forbids_nothing_below() -> None:
    found = payload(documented({"a": "string"}), learned({"a": {"fields": {"b": "integer"}}}))
    assert found.fields["a"].kinds & TEXT
    assert found.fields["a"].rest is not None


def test_a_documented_field_that_never_came_says_of_how_many() -> None:
    known = documented({"a": "string", "b": {"fields": {"c": "string", "d": "string"}}})
    found = payload(known, learned({"b": {"fields": {"c": "string"}}}, "4000"))
    assert found.fields["a"].unseen == 4000
    assert found.fields["b"].fields["d"].unseen == 4000
    assert found.fields["b"].fields["c"].unseen == 0


@pytest.mark.parametrize(
    "files",
    [
        [learned({"b": "string"}, FEW)],
        [learned({"b": "string"}, rest="any")],
        [learned({"b": "string"}), learned({"a": "string"})],
    ],
    ids=["too few came", "some were left out", "another endpoint has it"],
)
def test_nothing_is_said_to_be_unseen_that_may_have_come(files: list[LearnedShapes]) -> None:
    known = documented({"a": "string", "b": "string"})
    assert payload(known, *files).fields["a"].unseen == 0


def test_where_an_endpoint_has_learned_nothing_all_may_come() -> None:
    known = documented({"a": "string", "b": "string"})
    found = payload(known, learned({"b": "string"}), whole=False)
    assert found.fields["a"].unseen == 0


def test_the_fields_of_an_object_that_is_not_always_there_may_be_rare() -> None:
    known = documented({"b": {"fields": {"c": "string", "d": "string"}}})
    found = payload(known, learned({"b?": {"fields": {"c": "string"}}}))
    assert found.fields["b"].fields["d"].unseen == 0


def test_events_that_never_came_are_as_documented() -> None:
    known = documented({"a": "string"})
    both = ShapesAsSeen(known, [learned({"a": "string"})], whole=True, typed=True)
    assert both.events == ("e",)
    assert both.payload("other") is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "`shapes` is a mapping"),
        ({"payloads": [], "more": "x"}, "`shapes.more` is an unknown key"),
        ({"payloads": [{"for": "e"}]}, "`shapes.payloads[0].seen` is a number"),
        ({"payloads": [{"for": "e", "seen": "many"}]}, "`shapes.payloads[0].seen` is a number"),
        ({"payloads": ["x"]}, "`shapes.payloads[0]` is a mapping"),
        ({"payloads": [{"for": "e", "seen": "1", "fields": {"a": "text"}}]}, "unknown type 'text'"),
    ],
)
def test_what_is_no_such_file_is_refused(data: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("[", r"\[")):
        parse_learned(data)
