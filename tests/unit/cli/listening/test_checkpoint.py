"""The checkpoint: one holder, 0600, and never further than it was told."""

import os
import stat
from pathlib import Path

import click
import pytest

from router.cli.listening.checkpoint import SIZE, Checkpoint, path_for
from router.errors import UsageError


def held(path: Path, store: str = "/s/router.db") -> Checkpoint:
    return Checkpoint(path, server="http://127.0.0.1:8001", store=store)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with held(path) as one:
        assert (one.cursor, one.delivery) == (None, None)
        one.advance("7-dlv_1", at=5, delivery="dlv_1")
        one.advance("9-dlv_2", at=6)
    with held(path) as two:
        assert (two.cursor, two.delivery) == ("9-dlv_2", "dlv_1")


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.touch(0o644)
    with held(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_listeners_do_not_share_one(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with (
        held(path),
        pytest.raises(click.ClickException, match=rf"process {os.getpid()}.*--checkpoint"),
    ):
        held(path)
    with held(path):
        pass


def test_a_write_replaces_the_whole_record(tmp_path: Path) -> None:
    """A kill between two writes leaves a whole one: its size never changes."""
    path = tmp_path / "c"
    with held(path) as one:
        for number in (9, 10**9, 3):
            one.advance(f"{number}-dlv_1", at=number)
            assert path.stat().st_size == SIZE
            assert path.read_bytes().rstrip().endswith(b"}")


@pytest.mark.parametrize("text", ["{", '{"server": 1}', "null"])
def test_a_damaged_one_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match="damaged"):
        held(path)


def test_that_of_another_router_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with held(path, "/other.db") as one:
        one.advance("1-", at=1)
    with pytest.raises(UsageError, match="another router"):
        held(path)


def test_its_place_tells_servers_filters_and_targets_apart(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": "/nowhere"}
    one, same, other = (path_for(environ, *what) for what in (("a", "b"), ("a", "b"), ("ab", "")))
    assert one == same != other
    assert one.parent == tmp_path / "state" / "router" / "listen"
    assert stat.S_IMODE(one.parent.stat().st_mode) == 0o700


def test_it_lies_below_home_if_nothing_else_is_said(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": "relative", "HOME": str(tmp_path)}
    assert path_for(environ, "a").is_relative_to(tmp_path / ".local" / "state")


@pytest.mark.parametrize("environ", [{}, {"HOME": "/proc/nowhere"}])
def test_without_a_place_to_keep_it_the_option_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="--checkpoint FILE"):
        path_for(environ, "a")
