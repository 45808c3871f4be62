"""How schemas, types and examples become shapes."""

from pathlib import Path
from typing import Any

import pytest

from tests.shapes import payments
from tests.shapes.go_structs import GoStructs
from tests.shapes.json_schema import SchemaReader
from tests.shapes.pieces import shaped
from tests.shapes.real import conditions
from tests.shapes.seen import Seen, of_example, opened, together


def written(seen: Seen) -> Any:
    """One shape without pieces: it stands in a payload of its own."""
    types, names = shaped({"e": Seen(frozenset({"object"}), fields={"it": seen})})
    return types[names["e"]]["fields"]["it"]


@pytest.mark.parametrize(
    ("examples", "shape"),
    [
        (["x"], "string"),
        (["2024-01-15T10:30:00Z"], "timestamp"),
        (["19.90"], "money"),
        (["https://example.com/a", "x"], "string"),
        ([1, 1.5], "number"),
        ([None], "any"),
        ([None, 1], "integer or null"),
        ([[]], "array"),
        ([[1], [2]], ["integer"]),
        ([{}], "object"),
        ([{"a": 1}, {"b?": None}], {"fields": {"a": "integer", "b??": "any"}}),
        ([{"a": 1}, None], {"fields": {"a": "integer"}, "type": "null"}),
        ([[1], None], {"items": "integer", "type": "null"}),
    ],
)
def test_examples(examples: list[Any], shape: Any) -> None:
    assert written(together(map(of_example, examples))) == shape


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "string", "enum": ["b", "a"]}, {"known": ["a", "b"]}),
        ({"const": "a"}, {"known": ["a"]}),
        ({"type": "integer", "nullable": True}, "integer or null"),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "boolean or integer"),
        ({"type": "array", "items": {"type": "string"}}, ["string"]),
        ({"type": "object"}, "object"),
        ({"$ref": "#/defs/a"}, {"fields": {"a": "any", "b": "string"}}),
        (
            {"allOf": [{"$ref": "#/defs/b"}, {"type": "object", "properties": {"c": {}}}]},
            {"fields": {"b": "string", "c": "any"}},
        ),
        ({}, "any"),
    ],
)
def test_schemas(schema: Any, shape: Any) -> None:
    named = {"type": "object", "properties": {"b": {"type": "string"}}}
    within = {"type": "object", "properties": {"a": {"$ref": "#/defs/a"}, "b": {"type": "string"}}}
    assert written(SchemaReader({"defs": {"a": within, "b": named}}).seen(schema)) == shape


def test_equal_parts_are_written_once() -> None:
    user = of_example({"login": "a", "id": 1, "site_admin": False})
    types, payloads = shaped(
        {"a": Seen(frozenset({"object"}), fields={"user": user, "owner": user}), "b": user}
    )
    assert payloads["a"] != payloads["b"]
    assert types[payloads["a"]]["fields"] == {"user": payloads["b"], "owner": payloads["b"]}


def test_what_users_name_is_open() -> None:
    seen = of_example({"metadata": {"a": 1}, "x": [{"metadata": {"b": 1}}]})
    assert written(opened(seen, ["metadata"])) == {
        "fields": {"metadata": "object", "x": [{"fields": {"metadata": "object"}}]}
    }


def test_the_types_of_a_library(tmp_path: Path) -> None:
    library = tmp_path / "stripe"
    library.mkdir()
    (tmp_path / "stripe-1.2.3.dist-info").mkdir()
    (library / "_event.py").write_text(
        "class Event:\n"
        '    OBJECT_NAME: ClassVar[Literal["event"]] = "event"\n'
        '    id: str\n    type: Literal["coupon.created", "coupon.deleted"]\n'
    )
    (library / "_coupon.py").write_text(
        "from stripe._event import Event\n"
        "class Coupon:\n"
        '    OBJECT_NAME: ClassVar[Literal["coupon"]] = "coupon"\n'
        "    class Part(StripeObject):\n        ids: List[str]\n"
        "    part: Optional[Part]\n    metadata: Dict[str, str]\n"
        '    customer: Optional[ExpandableField["Customer"]]\n    cause: "Event"\n'
    )
    found = payments.published([tmp_path])
    assert [event.name for event in found.events] == ["coupon.created", "coupon.deleted"]
    assert found.sources == ("stripe 1.2.3 (PyPI)",)
    data = (found.payloads["coupon.created"].fields or {})["data"].fields or {}
    assert written(data["object"])["fields"] == {
        "cause": {
            "fields": {"id": "string", "type": {"known": ["coupon.created", "coupon.deleted"]}}
        },
        "customer": "string or null",
        "metadata": "object",
        "part": {"fields": {"ids": ["string"]}, "type": "null"},
    }


def test_the_structs_of_go(tmp_path: Path) -> None:
    (tmp_path / "a.go").write_text(
        'type Kind string\n\nconst (\n\tOpen Kind = "open"\n\tShut Kind = "shut"\n)\n'
        'type Base struct {\n\tID int64 `json:"id"`\n}\n'
        'type Issue struct {\n\tBase\n\tKind Kind `json:"kind,omitempty"`\n'
        '\tClosed *time.Time `json:"closed_at"`\n\tHidden string `json:"-"`\n'
        '\tParts []*Issue `json:"parts"`\n\tMore map[string]string `json:"more"`\n}\n'
    )
    assert written(GoStructs(tmp_path).seen("*Issue")) == {
        "fields": {
            "closed_at": "timestamp or null",
            "id": "integer",
            "kind": {"known": ["open", "shut"]},
            "more": "object",
            "parts": "array",
        }
    }


def test_an_example_adds_to_a_list_of_words_and_is_none_itself() -> None:
    listed = SchemaReader({}).seen({"type": "string", "enum": ["a"]})
    free = SchemaReader({}).seen({"type": "string"})
    assert written(together([listed, of_example("b")])) == {"known": ["a", "b"]}
    assert written(together([of_example("a"), of_example("b")])) == "string"
    assert written(together([listed, free])) == "string"


def test_conditions_are_those_a_person_would_write() -> None:
    payload = {"a": "open", "b-c": "A/b", "n": 1, "list": [{"x": True}, {"x": None}]}
    assert list(conditions(payload)) == [
        "payload.a == 'open'",
        "payload.\"b-c\" != ''",
        "payload.n >= 0",
        "payload.list[0].x == true",
        "payload.list[0].x == null",
    ]
