"""docs/cost.md shows what `check --cost` says."""

import os
import re
from pathlib import Path

import pytest

from router.cli.main import run
from tests.acceptance.process import ROOT

PAGE = (ROOT / "docs" / "cost.md").read_text("utf-8")


def block(language: str) -> str:
    [text] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def test_the_example_is_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.yaml").write_text(block("yaml"), "utf-8")
    monkeypatch.chdir(tmp_path)
    program, *args = block("sh").split()
    assert program == "router"
    assert run(args, os.environ) == 0
    assert capsys.readouterr().out == block("text")
