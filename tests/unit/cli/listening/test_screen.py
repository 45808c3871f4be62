"""The view for a terminal, without one."""

from io import StringIO

from rich.console import Console

from router.cli.listening.screen import ScreenView
from tests.unit.cli.listening.conftest import Maker, a_try


def test_a_target_that_is_not_there_stays_in_sight_until_something_takes_a_delivery(
    make: Maker,
) -> None:
    screen = ScreenView(Console(file=StringIO(), width=300), "http://t/")
    screen.connection(None, 0.0)
    screen.target_down("http://t/", "nothing listens there")
    assert screen._state().plain.startswith(
        "● connected to the router  ○ target: nothing listens there  0 accepted"
    )
    screen.forwarded(a_try(make(), 200))
    assert screen._state().plain.startswith("● connected to the router  1 accepted")
    screen.forwarded(a_try(make(), None, error="nothing listens there", again_in_s=1.0))
    assert "○ target: nothing listens there" in screen._state().plain
