"""What somebody wrote of a payload over what its sender publishes."""

from typing import Any

from router.typing.lattice import LIST, NULL, NUMBER, TEXT, Type
from router.typing.shapes import Pieces, parse_shapes


def both(written: dict[str, Any], published: dict[str, Any]) -> Type:
    pieces = Pieces(lambda: {"1": {"fields": published}}, {"e": "1"})
    found = parse_shapes({"payloads": [{"for": "e", "fields": written}]}, pieces).payload("e")
    assert found is not None
    return found


def test_the_fields_of_both_are_known() -> None:
    assert set(both({"a": "string"}, {"b": "string"}).fields) == {"a", "b"}


def test_the_written_one_says_what_a_text_holds() -> None:
    assert both({"a": "money"}, {"a": "string or null"}).fields["a"].format == "money"
    assert both({"a": "string"}, {"a": "string or integer"}).fields["a"].kinds & NUMBER


def test_where_they_differ_it_may_be_either() -> None:
    found = both({"a": "string"}, {"a": "integer"}).fields["a"]
    assert found.kinds & TEXT
    assert found.kinds & NUMBER
    assert found.kinds & NULL


def test_objects_and_lists_are_joined_within() -> None:
    inner = both({"a": [{"fields": {"x": "string"}}]}, {"a": [{"fields": {"y": "string"}}]})
    item = inner.fields["a"].item
    assert item is not None
    assert set(item.fields) == {"x", "y"}
    assert both({"a": "array"}, {"a": ["string"]}).fields["a"].item is not None
    deep = both({"a": {"fields": {"x": "string"}}}, {"a": {"fields": {"y": "string"}}})
    assert set(deep.fields["a"].fields) == {"x", "y"}


def test_words_of_both_are_known_if_the_written_one_lists_any() -> None:
    found = both({"a": {"known": ["x"]}, "b": "string"}, {"a": {"known": ["y"]}, "b": "string"})
    assert found.fields["a"].known == {"x", "y"}


def test_who_knows_nothing_takes_what_the_other_knows() -> None:
    assert both({"a": "any"}, {"a": ["string"]}).fields["a"].kinds & ~NULL & LIST
    assert both({"a": ["string"]}, {"a": "any"}).fields["a"].item is not None


def test_pieces_are_read_when_they_are_asked_for_and_once() -> None:
    asked: list[str] = []

    def types() -> dict[str, Any]:
        asked.append("types")
        return {"1": {"fields": {"a": "string"}}}

    shapes = parse_shapes({}, Pieces(types, {"e": "1", "f": "1"}))
    assert asked == []
    assert shapes.payload("nobody") is None
    assert asked == []
    assert shapes.payload("e") is shapes.payload("f")
    assert asked == ["types"]


def test_where_users_name_fields_those_of_examples_are_theirs() -> None:
    pieces = Pieces(lambda: {"1": {"fields": {"a": "string", "userid": "string"}}}, {"e": "1"})
    written = {"for": "e", "fields": {"a": "string"}, "rest": "any"}
    found = parse_shapes({"payloads": [written]}, pieces).payload("e")
    assert found is not None
    assert set(found.fields) == {"a"}
