"""`--watch`: drawn again until Ctrl-C, whatever happens meanwhile."""

import os
from contextlib import redirect_stdout

import click
import pytest

from router.cli.paging import Collected
from router.cli.redraw import _CLOSE, _HOME, _OPEN, framed, redraw
from router.errors import StoreUnavailable
from tests.unit.cli.conftest import Router

SIZE = os.terminal_size((20, 5))


def interrupt() -> None:
    raise KeyboardInterrupt


def watched(*answers: str | Exception) -> list[list[str]]:
    """The lines of each drawing of these answers, and at the end what stays on the terminal."""
    coming = iter(answers)
    pauses = iter((*[lambda: None] * (len(answers) - 1), interrupt))

    def once() -> None:
        answer = next(coming)
        if isinstance(answer, Exception):
            raise answer
        click.echo(answer)

    with redirect_stdout(Collected()) as terminal:
        redraw(once, title="router dead", size=lambda: SIZE, pause=lambda: next(pauses)())  # noqa: PLW0108 - another one each time
    shown = terminal.getvalue()
    assert shown.startswith(_OPEN + _HOME)
    drawn, _, stays = shown.removeprefix(_OPEN + _HOME).partition(_CLOSE)
    return [click.unstyle(one).splitlines() for one in (*drawn.split(_HOME), stays)]


def test_it_is_drawn_anew_until_ctrl_c() -> None:
    title = "router dead, every …"
    assert watched("one", "two") == [[title, "one"], [title, "two"], ["two"]]


def test_what_fails_at_once_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable):
        redraw(fail, title="", size=lambda: SIZE, pause=interrupt)
    assert capsys.readouterr().out == ""


def test_what_fails_later_is_drawn_and_tried_again() -> None:
    drawn = watched("one", StoreUnavailable("gone"), "three")
    assert [one[-1] for one in drawn] == ["one", "router: gone", "three", "three"]


def test_no_more_is_drawn_than_there_is_room_for() -> None:
    lines = click.unstyle(framed("a\nb\nc\nd\ne\nf\n", SIZE)).splitlines()
    assert [line.removeprefix(_HOME) for line in lines] == ["a", "b", "c", "… 3 more"]
    assert "x" * 19 + "…" in framed("x" * 30, SIZE)
    assert "x" * 20 in framed("x" * 20, SIZE)


@pytest.mark.parametrize(
    "args", [("dead", "--watch"), ("dead", "--watch", "--json"), ("targets", "--watch")]
)
def test_a_pipe_and_json_are_not_watched(args: tuple[str, ...], router: Router) -> None:
    ran = router(*args)
    assert (ran.code, ran.out) == (2, "")
    assert "--watch draws on a terminal" in ran.err


def test_a_verb_of_the_group_is_not_watched(router: Router) -> None:
    ran = router("targets", "--watch", "pause", "erp")
    assert (ran.code, ran.err) == (2, "router: --watch is for the list alone\n")
