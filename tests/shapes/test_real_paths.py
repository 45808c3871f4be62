"""What `check` says of conditions on paths of published payloads, and of the made files."""

import json
from typing import Any

import pytest

from router.providers import builtin
from router.providers.catalogue import PublishedFile
from tests.shapes.published import FILES
from tests.shapes.real import KEPT, findings
from tests.shapes.senders import REAL

PATHS: dict[str, dict[str, list[str]]] = json.loads(KEPT.read_bytes())
PUBLISHED = {"code-host": 75, "commerce": 218, "slack": 77, "stripe": 250}
"""How many events each sender is known to publish."""


@pytest.mark.parametrize("sender", REAL)
def test_a_condition_on_a_real_path_is_no_mistake(sender: str) -> None:
    asked = PATHS[sender]
    assert sum(map(len, asked.values())) >= 70
    assert findings(sender, asked) == {"error": [], "warning": []}


def test_a_condition_on_no_path_is_one() -> None:
    """What the test above would miss if nothing were ever said."""
    found = findings("code-host", {"push": ["payload.afterwards == 'x'", "payload.reff == 'x'"]})
    codes = {severity: [code for code, _ in each] for severity, each in found.items()}
    assert codes == {"warning": ["unknown-field"], "error": ["misspelt-field"]}


@pytest.mark.parametrize(("sender", "count"), PUBLISHED.items())
def test_every_published_event_is_in_the_catalogue(sender: str, count: int) -> None:
    assert len({event.name for event in builtin()[sender].events}) >= count


def test_every_published_action_is_in_the_catalogue() -> None:
    (pull,) = [event for event in builtin()["code-host"].events if event.name == "pull_request"]
    assert len(pull.actions) >= 21
    assert len(set(pull.actions)) == len(pull.actions)


@pytest.mark.parametrize("path", sorted(FILES.glob("*.json")), ids=lambda path: path.stem)
def test_a_made_file_says_where_it_is_from_and_has_no_loose_ends(path: Any) -> None:
    file = json.loads(path.read_bytes())
    assert set(file) == set(PublishedFile.__struct_fields__)
    assert all(file["source"])
    provider = builtin()[path.stem]
    assert [event for event in file["payloads"] if provider.shapes.payload(event) is None] == []
    assert set(file["payloads"]) <= {event.name for event in provider.events}
