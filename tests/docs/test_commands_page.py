"""Every command is on a page of docs/ that shows it, and the help names its page."""

import re
from pathlib import Path

import pytest

from router.cli.main import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {page.name: page.read_text("utf-8") for page in DOCS.glob("*.md")}


def pages_with(command: str) -> set[str]:
    """The pages that show `router COMMAND` in code."""
    shown = re.compile(rf"(?:^|`|\$ |&& )router {re.escape(command)}\b", re.MULTILINE)
    return {name for name, text in PAGES.items() if shown.search(text)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_stands_on_a_page(command: str) -> None:
    assert pages_with(command), f"no page of docs/ shows `router {command}`"


def test_one_that_nobody_describes_is_found() -> None:
    assert pages_with("fly") == set()
