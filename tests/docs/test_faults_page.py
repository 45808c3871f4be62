"""docs/dev/faults.md names the harnesses that there are."""

import re
from importlib import import_module

import pytest

from tests.acceptance.process import ROOT

PAGE = (ROOT / "docs" / "dev" / "faults.md").read_text("utf-8")
TABLE = PAGE.partition("## The commands")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^\| `(\S+?)[ `]", TABLE, re.MULTILINE)
OURS = [
    "backups",
    "clocks",
    "corrupt",
    "io",
    "kill",
    "places",
    "powercut",
    "slow",
    "steps",
    "syscalls",
]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there(name: str) -> None:
    assert callable(import_module(f"tests.faults.{name}").main)


@pytest.mark.parametrize("name", OURS)
def test_every_harness_stands_in_the_table(name: str) -> None:
    assert name in COMMANDS
