"""
Every code has a file that says exactly that, a close neighbour that is silent, and a page.

A new code needs a row (in CHECKS of router/config/checks/, or in router/config/codes.py for what
one key shows), and `codes/CODE/bad.yaml` and `good.yaml`, which differ in nothing but what matters;
then GOLDEN=write makes its page in docs/codes/ and its line in docs/diagnostics.md.
"""

import pytest

from router.config import render_text
from router.config.codes import CODES
from tests.golden.made import made_of
from tests.golden.pages import FOLDER, ROOT, codes_markdown, page
from tests.golden.pairs import CODES_FOLDER, said


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_a_file_that_says_exactly_that(code: str) -> None:
    found = said(code, "bad")
    assert {(d.code, d.severity) for d in found} == {(code, CODES[code].severity)}, render_text(
        found
    )


@pytest.mark.parametrize("code", CODES)
def test_and_a_neighbour_that_is_silent(code: str) -> None:
    assert render_text(said(code, "good")) == ""


def test_no_pair_is_left_of_a_code_that_is_gone() -> None:
    assert {folder.name for folder in CODES_FOLDER.iterdir()} == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_its_page_is_current(code: str) -> None:
    assert made_of(FOLDER / f"{code}.md", page(code)) == page(code)


def test_no_page_is_left_of_a_code_that_is_gone() -> None:
    assert {file.stem for file in FOLDER.glob("*")} == set(CODES)


def test_the_list_of_codes_is_current() -> None:
    file = ROOT / "docs" / "diagnostics.md"
    text = file.read_text("utf-8")
    first = codes_markdown().partition("\n")[0]
    made = text[: text.index(f"\n{first}\n") + 1] + codes_markdown()
    assert made_of(file, made) == made
