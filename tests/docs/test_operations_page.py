"""docs/operations.md and docs/actions.md say what is."""

import re

import click
import pytest

from router.cli.main import cli
from router.config import load, render_text
from router.model.retry import BUILT_IN
from tests.acceptance.process import ROOT

OPERATIONS = (ROOT / "docs" / "operations.md").read_text("utf-8")
ACTIONS = (ROOT / "docs" / "actions.md").read_text("utf-8")
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000}


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_retry_policies_are_as_written(name: str) -> None:
    row = re.search(rf"^\| `{name}` \| (.*?) \|", ACTIONS, re.MULTILINE)
    assert row is not None
    reported = [int(n) * _UNITS[u] for n, u in re.findall(r"(\d+)([smh])", row[1])]
    assert tuple(reported) == BUILT_IN[name].schedule_ms


@pytest.mark.parametrize("block", re.findall(r"^```yaml\n(.*?)^```", OPERATIONS, re.M | re.S))
def test_the_files_shown_are_right(block: str) -> None:
    result = load(block, path="rules.yaml", env={})
    assert render_text(result.diagnostics) == ""


def test_the_commands_shown_are_there() -> None:
    """Options too."""
    shown = "".join(re.findall(r"^```sh\n(.*?)^```", OPERATIONS, re.M | re.S))
    store = [line.split()[2:] for line in shown.splitlines() if line.startswith("router store ")]
    group = cli.get_command(click.Context(cli), "store")
    assert isinstance(group, click.Group)
    for name, *words in store:
        with group.commands[name].make_context(name, words):
            pass
    assert {words[0] for words in store} | {"restore"} == set(group.commands)


def test_the_options_named_are_there() -> None:
    """Each option and variable of the table, on some command; and no ROUTER_ variable untold."""
    context = click.Context(cli)
    options = [
        option
        for name in cli.list_commands(context)
        if (command := cli.get_command(context, name)) is not None
        for option in command.params
        if isinstance(option, click.Option)
    ]
    table = OPERATIONS.partition("## Options and variables")[2].partition("\n## ")[0]
    known = {word for option in options for word in option.opts}
    assert set(re.findall(r"`(--?\w+)`", table)) <= known
    variables = {str(option.envvar) for option in options if option.envvar}
    assert variables <= set(re.findall(r"`(ROUTER_\w+)`", table))
