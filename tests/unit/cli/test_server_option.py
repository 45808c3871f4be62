"""`--server URL`: nothing but that server is asked, whatever lies here."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from router.cli.main import cli
from router.cli.options import Options
from router.errors import UsageError
from tests.acceptance.process import free_ports
from tests.unit.cli.conftest import EXAMPLE, Router
from tests.unit.cli.held_router import held_router
from tests.unit.cli.test_stored import DLV, JOB, fill

Path_ = tuple[str, ...]

ONE = ["--where", "delivery.id == var.id && var.n < 2", "--var", "n:=1.5", "--var"]
SAYS: dict[Path_, list[list[str]]] = {
    ("status",): [[], ["--json"], ["--check"]],
    ("deliveries",): [[], ["--refused"], ["--where", "`true`"], [*ONE, f"id={DLV}"]],
    ("show",): [[DLV], [DLV[4:12]], [JOB], [JOB, "--follow"]],
    ("explain",): [[DLV], [DLV, "-f", "rules.yaml"]],
    ("new", "test"): [[DLV]],
    ("dead",): [[], ["--list"], ["--where", "`true`"]],
    ("export",): [["--where", "`true`"], ["--lines", *ONE, f"id={DLV}"]],
    ("rules",): [[]],
    ("audit",): [[]],
    ("targets",): [[]],
    ("targets", "pause"): [["t"]],
    ("targets", "resume"): [["t"]],
    ("token", "new"): [["ci", "--role", "viewer"]],
    ("token", "list"): [[]],
    ("token", "revoke"): [["ci"]],
    ("replay",): [[DLV], ["--rule", "paid", "--dry-run"], ["--rule", "paid", "--yes"]],
    ("cancel",): [["--rule", "paid", "--yes"], ["--rule", "paid", "--dry-run"], [JOB]],
    ("revive",): [["--rule", "paid", "--yes"], ["--rule", "paid", "--dry-run"], [JOB]],
    ("resume",): [[]],
    ("erase",): [["--where", "`true`", "--yes"], ["--where", "`true`", "--dry-run"], ["--status"]],
    ("recover",): [["shop", "--dry-run"], ["shop", "--yes"]],
    ("store", "prune"): [[]],
    ("doctor",): [[], ["--refused", "last"]],
    ("listen",): [["--to", "http://127.0.0.1:1/", "--once"]],
}
"""What each command that takes the option is given beside it."""


def commands(group: click.Group = cli, path: Path_ = ()) -> Iterator[tuple[Path_, click.Command]]:
    """Every command there is, under its whole name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        yield (*path, name), command


def takes_server(command: click.Command) -> bool:
    return any("--server" in parameter.opts for parameter in command.params)


def test_every_command_that_takes_the_option_is_tried_here() -> None:
    assert {path for path, command in commands() if takes_server(command)} == SAYS.keys()


def test_who_goes_to_the_store_here_all_the_same_is_refused() -> None:
    """By the one way there is to it: a command that forgets the option shows nothing."""
    place = Options(rules=EXAMPLE, server="http://127.0.0.1:1")
    with pytest.raises(UsageError, match="leave --server out"):
        place.working()


@pytest.fixture
def kept(rules: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A store beside the rules file; what its files held."""
    monkeypatch.chdir(rules.parent)
    asyncio.run(fill(rules.parent / "router.db", time.time_ns() // 1_000_000))
    return contents(rules.parent)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("first", [False, True], ids=["last", "first"])
@pytest.mark.parametrize(
    ("path", "more"), [(path, more) for path, lists in SAYS.items() for more in lists]
)
def test_a_server_that_is_not_there_is_an_error_that_names_it(
    router: Router, kept: dict[str, bytes], path: Path_, more: list[str], *, first: bool
) -> None:
    """Nothing of the store here is shown or changed, as if it were that server's."""
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    option = ["--server", url]
    group = 1 if path[0] == "targets" else len(path)  # the group `store` has no options
    words = (*path[:group], *option, *path[group:], *more) if first else (*path, *more, *option)
    ran = router(*words)
    assert ran.code == 1, ran
    assert f"no server runs at {url}" in ran.out + ran.err
    assert not {DLV[:12], JOB[:12]} & set(ran.out.split())
    assert path == ("doctor",) or not ran.out
    assert contents(Path.cwd()) == kept


def test_no_rules_file_is_needed_to_ask_a_server(
    router: Router, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [path for path in SAYS if path not in (("doctor",), ("explain",), ("new", "test"))]
    for path in asked:
        ran = router(*path, *SAYS[path][0], "--server", "http://127.0.0.1:1")
        assert (ran.code, ran.err) == (1, "router: no server runs at http://127.0.0.1:1\n"), path


@pytest.mark.parametrize("other", [["--store", "x.db"], ["--admin", "127.0.0.1:8001"]])
def test_a_server_and_a_store_here_contradict_each_other(router: Router, other: list[str]) -> None:
    url = "http://127.0.0.1:1"
    ran = router("deliveries", "--server", url, *other)
    assert (ran.code, ran.out) == (2, "")
    assert f"leave {other[0]} out" in ran.err
    assert router("targets", *other, "pause", "erp", "--server", url).code == 2


def test_an_address_that_is_no_url_is_reported_at_once(router: Router) -> None:
    ran = router("deliveries", "--server", "router.example.net:8001")
    assert ran.code == 2
    assert "--server takes a URL like https://" in ran.err


def test_options_of_a_group_count_for_its_subcommand(
    router: Router, rules: Path, tmp_path: Path
) -> None:
    asyncio.run(fill(tmp_path / "other.db", time.time_ns() // 1_000_000))
    there = ("--store", str(tmp_path / "other.db"))
    with held_router(rules, f"sqlite:{there[1]}"):
        assert router("targets", "-f", rules, *there, "--json", "pause", "t").out.startswith("{")
    assert "paused" in router("targets", "-f", rules, *there).out
    assert not (rules.parent / "router.db").exists()
