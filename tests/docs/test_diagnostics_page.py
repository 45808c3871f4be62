"""docs/diagnostics.md: its file is silent, its lines run, its formats are those there are."""

import re
from pathlib import Path

import pytest

from router.config import load, render_text
from router.config.annotations import FORMATS
from router.config.codes import CODES, page
from tests.docs.pages import lines, reading, steps

PAGE = Path(__file__).parents[2] / "docs" / "diagnostics.md"
BLOCKS = [text for kind, text in steps("diagnostics.md") if kind == "yaml"]


@pytest.mark.parametrize("block", BLOCKS)
def test_what_is_meant_so_is_not_said(block: str) -> None:
    found = load(block, path="rules.yaml", env={}, thorough=True)
    assert render_text(found.diagnostics) == ""
    bare = re.sub(r"# check: ignore.*", "", block)
    assert load(bare, path="rules.yaml", env={}, thorough=True).diagnostics


@pytest.mark.long
def test_its_lines_run(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        reader.write(BLOCKS[0])
        for line in lines("diagnostics.md"):
            reader.do(line)


def test_its_formats_are_those_there_are() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ", PAGE.read_text("utf-8"), re.MULTILINE)
    assert tuple(rows) == FORMATS


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_linked_and_has_a_page_to_read_offline(code: str) -> None:
    assert f"[`{code}`](codes/{code}.md)" in PAGE.read_text("utf-8")
    assert page(code).startswith(f"# {code}\n")
    assert "router check" in page(code)
