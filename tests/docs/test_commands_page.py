"""
docs/commands.md lists every command, and another page of docs/ shows it.

GOLDEN=write makes the list anew.
"""

import re
from pathlib import Path

import pytest

from router.cli.command_table import COMMANDS
from tests.docs.commands_page import commands_markdown
from tests.golden.made import made_of
from tests.unit.cli.test_server_option import SAYS

ROOT = Path(__file__).parents[2]
DOCS, CLI, CLI_TESTS = ROOT / "docs", ROOT / "router" / "cli", ROOT / "tests" / "unit" / "cli"
PAGES = {page.name: page.read_text("utf-8") for page in DOCS.glob("*.md")}
del PAGES["commands.md"]  # it has every command, and describes none


def pages_with(command: str) -> set[str]:
    """The pages that show `router COMMAND` in code."""
    shown = re.compile(rf"(?:^|`|\$ |&& )router {re.escape(command)}\b", re.MULTILINE)
    return {name for name, text in PAGES.items() if shown.search(text)}


def test_the_list_of_commands_is_current() -> None:
    made = commands_markdown()
    assert made_of(DOCS / "commands.md", made) == made


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_stands_on_a_page(command: str) -> None:
    assert pages_with(command), f"no page of docs/ shows `router {command}`"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_tests_of_its_own(command: str) -> None:
    """Beside the tables that every command with `--server` or `--store` is in."""
    called = re.compile(rf"""["']{re.escape(command)}["']|\bcli[./]{command.replace("-", "_")}\b""")
    tables = {"test_server_option.py", "test_store_alone.py"}
    files = [f for f in CLI_TESTS.rglob("*.py") if f.name not in tables]
    assert [f.name for f in files if called.search(f.read_text("utf-8"))]


def test_every_module_with_a_command_is_in_the_table() -> None:
    """Or hangs a further command on a group that is."""
    made = re.compile(r"^@click\.(command|group)\b", re.MULTILINE)
    modules = {
        f"router.cli.{f.stem}" for f in CLI.glob("*.py") if made.search(f.read_text("utf-8"))
    }
    assert modules - {module for module, _ in COMMANDS.values()} - {"router.cli.main"} == set()


def test_the_commands_that_go_to_another_machine_are_listed() -> None:
    section = PAGES["operations.md"].partition("**From another machine.**")[2]
    listed = section.partition("```\n\n")[2].partition("If it does not answer")[0]
    words = {path[-1] if path[0] == "targets" else " ".join(path) for path in SAYS}
    assert [word for word in words if f"`{word}`" not in listed] == []


def test_one_that_nobody_describes_is_found() -> None:
    assert pages_with("fly") == set()
