"""docs/install.md; `python -m tests.release` does each of its lines, from empty environments."""

import re

import pytest

from router.cli.main import run
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/install.md").read_text("utf-8")


def test_the_version_is_shown_as_the_command_says_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = PAGE.partition("$ router --version\n")[2].partition("```")[0]
    assert run(["--version"], {}) == 0
    assert shape(shown) == shape(capsys.readouterr().out)


def shape(text: str) -> str:
    """Without what another version, commit or schema changes."""
    return re.sub(r"(router|commit|[LQ]) [\w.+]+", r"\1 …", text)
