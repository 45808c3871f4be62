"""The page about `router status` shows what the command prints; GOLDEN=write makes it anew."""

import re
from os import terminal_size

import click
import pytest

from router.cli.status import StatusText
from router.legible import ago
from router.operator import attention
from tests.acceptance.process import ROOT
from tests.builders import NOW
from tests.golden.made import made_of
from tests.overviews import an_overview

PAGE = ROOT / "docs" / "status.md"
_BLOCK = re.compile(r"(?<=<!-- status -->\n```text\n).*?(?=^```)", re.DOTALL | re.MULTILINE)


def test_what_it_shows_is_what_the_command_prints() -> None:
    text = PAGE.read_text("utf-8")
    printed = StatusText(an_overview(), terminal_size((80, 24)), relative).lines()
    shown = _BLOCK.sub(lambda _: click.unstyle("\n".join(printed)) + "\n", text)
    assert made_of(PAGE, shown) == shown


def relative(at: int | None) -> str:
    return "-" if at is None else ago(at, NOW)


@pytest.mark.parametrize(
    "words",
    [
        f"the store has {attention.STORE_PERCENT} % of `max_size`",
        f"or is full within {attention.STORE_SOON_MS // 86_400_000} days",
        f"refused {attention.REFUSED_MIN} requests or more within the last hour",
        "due for more than a minute",
    ],
)
def test_its_figures_are_those_of_the_code(words: str) -> None:
    assert words in " ".join(PAGE.read_text("utf-8").split())
