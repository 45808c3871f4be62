"""docs/mutation.md: its lines work, and what it shows is what is said."""

from pathlib import Path

import pytest

from router.cli.main import run
from router.rehearsal.mutation import MUTANTS_MAX
from tests.docs.pages import ROOT, block, lines

PAGE = (ROOT / "docs" / "mutation.md").read_text("utf-8")


def test_what_it_shows_is_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.yaml").write_text(block("mutation.md", "yaml"), "utf-8")
    first, *others = lines("mutation.md")
    assert run(first.split()[1:], {}) == 0
    assert capsys.readouterr().out == block("mutation.md", "text")
    for line in others:
        assert run(line.split()[1:], {}) == 0


def test_its_bound_is_the_one_there_is() -> None:
    assert f"more than {MUTANTS_MAX:,} changes" in PAGE
