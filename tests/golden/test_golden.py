"""
Rules files and exactly what is said about them.

`ok/*.yaml` must be silent, those called `real_*` as a proof that real fields and habits are no
mistakes; each `err/*.yaml` has the rendered text beside it as `.out`. Set
GOLDEN=write to write those anew, then read the difference before keeping it.
"""

from pathlib import Path

import pytest

from router.config import load, render_text
from tests.golden.made import made_of

HERE = Path(__file__).parent
OK = sorted((HERE / "ok").glob("*.yaml"))
ERR = sorted((HERE / "err").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the files' plugins are."""
    monkeypatch.chdir(HERE)


def said(path: Path) -> str:
    text = path.read_bytes().decode()
    return render_text(load(text, path=path.name, env={}).diagnostics)


@pytest.mark.long
@pytest.mark.parametrize("path", OK, ids=lambda path: path.stem)
def test_a_right_file_is_silent(path: Path) -> None:
    thorough = path.stem.startswith("real_")  # others have endpoints without rules, and the like
    found = load(path.read_text("utf-8"), path=path.name, env={}, thorough=thorough)
    assert render_text(found.diagnostics) == ""
    assert found.ruleset is not None


@pytest.mark.parametrize("path", ERR, ids=lambda path: path.stem)
def test_a_wrong_file_is_answered_like_this(path: Path) -> None:
    assert said(path) == made_of(path.with_suffix(".out"), said(path))
