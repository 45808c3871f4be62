"""What is said of payloads that are known by one sample only."""

import pytest

from router.expressions import compile as compiled
from router.typing.infer import value_type
from router.typing.lattice import closed_object
from router.typing.outline import outlined

SAMPLE = {
    "user": {"email": "ada@example.com", "name": None},
    "items": [{"price": 5}, {"title": "Door"}],
    "status": "open",
    "tags": [],
    "commonLabels": {"severity": "high"},
    "custom_data": {"order": "A-1"},
}


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("payload.user.email == 5", []),
        ("payload.user.phone == 'x'", []),
        ("payload.user.emial == 'x'", ["misspelt-field"]),
        ("payload.statsu == 'x'", ["misspelt-field"]),
        ("payload.status.code == 'x'", []),
        ("payload.status > 5", []),
        ("payload.items[].titel", ["misspelt-field"]),
        ("payload.items[0].price == 'x'", []),
        ("payload.items.anything == 'x'", []),
        ("payload.items[?status == 'x']", []),
        ("payload.tags[0].name == 'x'", []),
        ("payload.commonLabels.severty == 'x'", []),
        ("payload.custom_data.orders == 'x'", []),
        ("payload.custom_dat.order == 'x'", ["misspelt-field"]),
    ],
)
def test_only_a_name_that_is_nearly_known_is_doubtful(expression: str, said: list[str]) -> None:
    roots = closed_object({"payload": outlined(SAMPLE)}, label="roots")
    _, run = value_type(compiled(expression), roots)
    assert [finding.code for finding in run.findings] == said
    assert all(finding.severity == "warning" for finding in run.findings)
