"""A definition with what its sender publishes beside it."""

import msgspec

from router.providers.catalogue import with_published
from tests.unit.providers.makers import a_definition

FILE = msgspec.json.encode(
    {
        "source": ["package 1"],
        "events": {"Others": {"push": [], "issue": ["opened", "pinned"], "fork": []}},
        "types": {"1": {"fields": {"ref": "string"}}},
        "payloads": {"push": "1"},
    }
)
OWN = [
    {"group": "Own", "names": ["issue", "push"], "actions": ["opened"], "assumed_actions": ["x"]},
    {"group": "Other", "names": ["star"], "assumed": True},
]


def test_its_own_events_stay_first_as_they_are_and_gain_actions() -> None:
    whole, _ = with_published(a_definition(events=OWN), FILE)
    rows = [(g.group, g.names, g.actions, g.assumed_actions, g.assumed) for g in whole.events]
    assert rows == [
        ("Own", ("issue",), ("opened", "pinned"), ("x",), False),
        ("Own", ("push",), ("opened",), ("x",), False),
        ("Other", ("star",), (), (), True),
        ("Others", ("fork",), (), (), False),
    ]


def test_shapes_are_by_event() -> None:
    _, pieces = with_published(a_definition(events=OWN), FILE)
    shape = pieces.payload("push")
    assert shape is not None
    assert set(shape.fields) == {"ref"}
    assert pieces.payload("fork") is None
    assert "push" in pieces
    assert "fork" not in pieces
