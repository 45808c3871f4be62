"""Every row against a router that is served: what it says, keeps and counts."""

import socket
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests.wire import framing, heads, waits
from tests.wire.place import SETTINGS, Outcome, problems, rules, run, served
from tests.wire.row import Row

ROWS = sorted((*framing.FRAMING, *heads.HEADS, *waits.WAITS), key=lambda row: row.on)


@pytest.fixture(scope="module")
def outcome(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Row], Outcome]]:
    """What became of a row; the first that asks has all of its settings run, side by side."""
    chosen = [
        item.callspec.params["row"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    ]

    @cache
    def ran(on: str) -> dict[str, Outcome] | str:
        rows = [row for row in chosen if row.on == on]
        server = f"  limits: {{{SETTINGS[on]}}}\n"
        endpoints = rules(rows, issuer.getsockname()[1])
        try:
            for _ in range(3):
                with served(tmp_path_factory.mktemp(on), endpoints, server) as (place, router):
                    outcomes = run(rows, place)
                    assert b"Traceback" not in router.log.read_bytes()
                if not any("busy" in str(one.refused) for one in outcomes.values()):
                    break  # else the machine was: it has told nothing of the router
        except Exception as error:  # noqa: BLE001 - told by every row, and tried once
            return repr(error)
        return outcomes

    def found(row: Row) -> Outcome:
        outcomes = ran(row.on)
        assert isinstance(outcomes, dict), outcomes
        return outcomes[row.name]

    with socket.create_server(("127.0.0.1", 0)) as issuer:  # it never says anything
        yield found


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_it_is_as_the_row_says(outcome: Callable[[Row], Outcome], row: Row) -> None:
    assert problems(row, outcome(row)) == []
