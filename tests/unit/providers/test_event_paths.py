"""Paths of a definition that can never be there."""

from typing import Any

import pytest

from router.providers import builtin
from router.providers.event_paths import never_there
from tests.unit.providers.makers import a_definition

NAMES = "is the name of a field"
WITHIN = "each event is one element"
BATCH = {"split": 9, "split_at": "a.b"}


@pytest.mark.parametrize(
    ("keys", "place", "words", "meant"),
    [
        (
            {"event": {"field": "value[0].type"}},
            ("event", "field"),
            NAMES,
            "mean 'value.0.type'? `split: 100` and `split_at: value` would make an event",
        ),
        (
            {"event": {"field": "[0].type"}},
            ("event", "field"),
            NAMES,
            "mean '0.type'? `split: 100`",
        ),
        ({"action": {"field": ["a", "b[*].c"]}}, ("action", "field"), NAMES, "mean 'b.0.c'?"),
        ({"fields": {"x": {"field": "b[]"}}}, ("fields", "x", "field"), NAMES, "mean 'b.0'?"),
        (BATCH | {"event": {"field": "a.b[0].c"}}, ("event", "field"), WITHIN, "mean 'c'?"),
        (BATCH | {"id": {"field": "a.b.0.c"}}, ("id", "field"), WITHIN, "mean 'c'?"),
        (BATCH | {"id": {"field": "a.b.c"}}, ("id", "field"), WITHIN, "mean 'c'?"),
        (BATCH | {"id": {"field": "a.b"}}, ("id", "field"), WITHIN, "mean 'FIELD'?"),
        (BATCH | {"id": {"field": "c[1].d"}}, ("id", "field"), NAMES, "mean 'c.1.d'?"),
        ({"split": 9, "id": {"field": "[0].id"}}, ("id", "field"), WITHIN, "mean 'id'?"),
        ({"split": 9, "split_at": "value[0]"}, ("split_at",), NAMES, "mean 'value'?"),
    ],
)
def test_a_path_that_is_never_there(
    keys: dict[str, Any], place: tuple[str, ...], words: str, meant: str
) -> None:
    [(found, text, hint)] = never_there(a_definition(**keys))
    assert found == place
    assert words in text
    assert meant in hint


@pytest.mark.parametrize("path", ["type", "value.0.type", "a1.b2", "data.object.id", "0.x"])
def test_a_path_of_names_may_be_there(path: str) -> None:
    assert list(never_there(a_definition(event={"field": path}))) == []


def test_the_built_in_ones_are_there() -> None:
    doubts = {name: list(never_there(one.definition)) for name, one in builtin().items()}
    assert {name: found for name, found in doubts.items() if found} == {}
