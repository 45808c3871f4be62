"""Long answers and the pager: on a terminal alone, and only where somebody may want one."""

import os
import sys
from pathlib import Path

import click
import pytest

from router.cli.main import cli
from router.cli.paging import rows
from tests.terminal import on_a_terminal
from tests.unit.cli.conftest import ROOT, Router
from tests.unit.cli.test_server_option import commands

PAGED = {
    *("deliveries", "dead", "rules", "targets", "audit", "show", "explain", "diff", "providers")
}


def test_what_a_line_takes_of_a_terminal() -> None:
    assert rows("", 80) == 0
    assert rows("a\n\nb\n", 80) == 3
    assert rows("x" * 80 + "\n" + "y" * 81, 80) == 3
    assert rows(click.style("x" * 80, fg="red"), 80) == 1


def test_the_lists_and_what_is_long_have_a_pager() -> None:
    """And what is no list has no such option."""
    found = {p[0] for p, c in commands(cli) if any("--no-pager" in o.opts for o in c.params)}
    assert found >= PAGED


def test_a_pipe_gets_no_pager(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "false")
    monkeypatch.setenv("LINES", "5")
    assert router("providers").out.startswith("PROVIDER")


def with_pager(folder: Path) -> dict[str, str]:
    """An environment with a pager that says that it is one."""
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\necho begun; cat; echo ended\n", "utf-8")
    pager.chmod(0o755)
    return {**os.environ, "PAGER": str(pager), "PYTHONPATH": str(ROOT)}


@pytest.mark.long
@pytest.mark.parametrize(
    ("more", "lines", "variables", "paged"),
    [
        ([], 10, {}, True),
        ([], 1_000, {}, False),
        (["--no-pager"], 10, {}, False),
        ([], 10, {"NO_PAGER": "1"}, False),
        (["--json"], 10, {}, False),
    ],
)
def test_a_list_that_is_longer_than_the_terminal_is_paged(
    tmp_path: Path, more: list[str], lines: int, variables: dict[str, str], *, paged: bool
) -> None:
    environ = {**with_pager(tmp_path), **variables}
    command = [sys.executable, "-m", "router", "providers", *more]
    code, shown = on_a_terminal(command, environ=environ, lines=lines)
    assert code == 0
    assert "shopify" in shown
    assert shown.startswith("begun") == shown.endswith("ended\n") == paged


WATCHED = """
import click
from router.cli.paging import paged
from router.cli.redraw import watched

def lines(calls=[]):
    calls.append(1)
    if len(calls) > 1:
        raise KeyboardInterrupt
    click.echo("a line\\n" * 100)

click.command()(watched(paged(lines)))(["--watch"])
"""


@pytest.mark.long
def test_what_is_watched_is_not_paged(tmp_path: Path) -> None:
    code, shown = on_a_terminal([sys.executable, "-c", WATCHED], environ=with_pager(tmp_path))
    assert code == 0
    assert "more" in shown
    assert "begun" not in shown
