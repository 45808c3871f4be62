"""
The rows of framing on a server of somebody else's, for good: unmodified uvicorn before the router's
application. It says what our own parser accepts and what uvicorn accepts; where they differ, the
table says why. A difference that is not in it is news, of uvicorn or of ours.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.acceptance.asgi_server import asgi_process
from tests.acceptance.process import Rig
from tests.wire import framing
from tests.wire.place import TOKEN, Outcome, Place, problems, rules, run
from tests.wire.row import Row

pytestmark = pytest.mark.long

ROWS = [row for row in framing.FRAMING if row.framing and row.door == "public"]
DIFFERENT = {"half-closed": ("closes", "it takes a half-closed connection for one that is gone")}
"""What uvicorn says instead, and why. What it stores is not compared then."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    rig = Rig(tmp_path_factory.mktemp("asgi") / "router", rules(ROWS), {"TOKEN": TOKEN})
    with asgi_process(rig):
        token = Path(f"{rig.store}.token").read_text("ascii").strip()
        place = Place(("127.0.0.1", rig.listen), f"http://127.0.0.1:{rig.listen}", token)
        return run(ROWS, place)


def test_the_table_names_rows() -> None:
    assert set(DIFFERENT) <= {row.name for row in ROWS}


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_another_parser_agrees_or_differs_as_is_known(
    outcomes: Mapping[str, Outcome], row: Row
) -> None:
    found = problems(row, outcomes[row.name], strict=False)
    name = row.name.removesuffix(", bytewise").removesuffix(", head first")
    if name in DIFFERENT:
        said, _ = DIFFERENT[name]
        assert str(outcomes[row.name].seen) == said or (row.name != name and not found)
    else:
        assert found == []
