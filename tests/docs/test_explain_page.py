"""docs/explain.md shows what `explain` says."""

import os
from pathlib import Path

import pytest

from router.cli.main import run
from tests.docs.pages import block

PAGE = "explain.md"


def test_the_example_is_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.yaml").write_text(block(PAGE, "yaml"), "utf-8")
    (tmp_path / "order.json").write_text(block(PAGE, "json"), "utf-8")
    monkeypatch.chdir(tmp_path)
    program, *args = block(PAGE, "sh").split()
    assert program == "router"
    assert run(args, os.environ) == 0
    assert capsys.readouterr().out == block(PAGE, "text")
