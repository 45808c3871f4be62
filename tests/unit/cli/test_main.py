"""The entry point: every error is one line of words with the right exit code."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from router.cli.command_table import COMMANDS, GROUPS
from router.cli.main import _unexpected, cli
from tests.unit.cli.conftest import EXAMPLE, ROOT, Router

FORBIDDEN = (
    "asyncio",
    "litestar",
    "structlog",
    "cryptography",
    "rich",
    "httpx",
    "httptools",
)


def test_help_lists_every_command_in_its_group_at_one_column(router: Router) -> None:
    ran = router("--help")
    assert ran.code == 0
    width = max(map(len, COMMANDS))
    for group, rows in GROUPS.items():
        lines = [f"  {name:{width}}  {words}\n" for name, (_, words) in rows.items()]
        assert f"\n{group}:\n{''.join(lines)}" in ran.out


def test_a_command_is_in_one_group_only() -> None:
    assert len(COMMANDS) == sum(map(len, GROUPS.values()))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_line_of_help_fits_on_a_narrow_terminal(name: str) -> None:
    assert max(map(len, COMMANDS)) + 4 + len(COMMANDS[name][1]) < 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_and_has_help(name: str, router: Router) -> None:
    _, words = COMMANDS[name]
    assert isinstance(cli.get_command(click.Context(cli), name), click.Command)
    ran = router(name, "--help")
    assert ran.code == 0
    assert f"router {name}" in ran.out
    assert words.endswith(".")


def test_a_misspelt_command_is_answered_with_the_right_one(router: Router) -> None:
    assert router("chek") == (2, "", "router: there is no command 'chek'; did you mean 'check'?\n")


def test_an_unknown_command_leads_to_the_list(router: Router) -> None:
    assert "`router -h` lists them all" in router("frobnicate").err


def test_no_command_shows_the_help_and_is_wrong_usage(router: Router) -> None:
    ran = router()
    assert ran.code == 2
    assert all(f"\n{group}:\n" in ran.err for group in GROUPS)


@pytest.mark.parametrize("args", [["--json"], ["--json", "check"], ["--"]])
def test_options_without_a_command_are_wrong_usage(args: list[str], router: Router) -> None:
    ran = router(*args)
    assert (ran.code, ran.out) == (2, "")
    assert "a command comes first" in ran.err


@pytest.mark.parametrize(
    "args", [["check", "--bogus"], ["show"], ["send"], ["sink", "xyz"], ["dead", "--limit", "0"]]
)
def test_wrong_usage_is_one_line(args: list[str], router: Router) -> None:
    ran = router(*args)
    assert ran.code == 2
    assert ran.err.startswith("router: ")
    assert ran.err.count("\n") == 1
    assert "-h`" in ran.err


def test_no_rules_file_says_how_to_name_one(
    router: Router, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = router("check")
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert "-f RULES" in ran.err


def test_the_rules_file_of_the_environment_is_used(
    router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_RULES", str(rules))
    assert router("check").code == 0


def test_a_wrong_rules_file_is_shown_with_its_place(router: Router, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("version: 1\nrulez: []\n", "utf-8")
    ran = router("addresses", "-f", wrong)
    assert ran.code == 1
    assert f"{wrong}:2:1" in ran.err


def test_an_unexpected_error_is_one_line_and_a_way_to_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _unexpected(ValueError("two\nlines"), debug=False) == 1
    err = capsys.readouterr().err
    assert err == (
        "router: unexpected ValueError: two lines; run with ROUTER_DEBUG=1 for the traceback\n"
    )


@pytest.mark.long
def test_a_reader_that_goes_away_is_no_news() -> None:
    """`router providers github --json | head -1`"""
    process = subprocess.Popen(
        [sys.executable, "-m", "router", "providers", "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.long
def test_check_imports_no_server_and_no_client() -> None:
    """The budget: what costs a tenth of a second is imported by the commands that need it."""
    program = (
        "import sys; from router.cli.main import run; import os;"
        f"code = run(['check', {str(EXAMPLE)!r}], os.environ);"
        "print(*sorted({m.partition('.')[0] for m in sys.modules}), file=sys.stderr);"
        "sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(FORBIDDEN) & set(ran.stderr.split()) == set()
    assert ": ok, 5 endpoints" in ran.stdout


def test_help_imports_no_rules() -> None:
    program = (
        "import sys; from router.cli.main import run; import os; run(['-h'], os.environ);"
        "print(*sorted(m for m in sys.modules if m.startswith('router')), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(ran.stderr.split()) - {"router._version"} == {
        *("router", "router.cli", "router.cli.command_table", "router.cli.main", "router.errors")
    }
