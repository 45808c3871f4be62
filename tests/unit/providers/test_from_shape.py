"""Payloads made from shapes."""

import pytest

from router.providers import builtin
from router.providers.provider import payload_of
from router.typing.shapes import parse_shapes
from tests.misfits import misfit


def test_every_kind_of_field_has_a_value() -> None:
    fields = {
        "word": {"known": ["open", "closed"]},
        "when": "timestamp or null",
        "count": "integer",
        "flag": "boolean",
        "list": [{"fields": {"id": "integer"}}],
        "plain": "string",
        "map": {"rest": "string"},
        "anything": "any",
    }
    shape = parse_shapes({"payloads": [{"for": "e", "fields": fields}]}).payload("e")
    assert shape is not None
    assert payload_of(shape) == {
        "word": "closed",
        "when": "2024-01-15T10:30:00Z",
        "count": 1,
        "flag": False,
        "list": [{"id": 1}],
        "plain": "text",
        "map": {},
        "anything": None,
    }


@pytest.mark.parametrize("sender", ["commerce", "code-host", "stripe", "slack"])
def test_it_is_of_the_type_it_is_made_from(sender: str) -> None:
    provider = builtin()[sender]
    shapes = [provider.shapes.payload(event.name) for event in provider.events]
    assert [why for s in shapes if s and (why := misfit(s, payload_of(s))) is not None] == []


def test_an_event_without_a_sample_has_one_made_of_its_shape() -> None:
    sample = builtin()["github"].sample("milestone")
    assert isinstance(sample, dict)
    assert sample["action"] == "closed"
    assert isinstance(sample["milestone"], dict)
    assert builtin()["github"].sample_assumed("milestone")
