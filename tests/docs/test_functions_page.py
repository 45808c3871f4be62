"""docs/functions.md begins with what the table gives; what it shows of patterns is so."""

import re
from pathlib import Path

from router.expressions import FUNCTIONS, decode_json
from router.expressions import compile as compiled
from router.expressions.regex import LENGTH_MAX, PROGRAM_MAX, WORK_MAX
from tests.docs.functions_page import functions_markdown
from tests.golden.made import made_of

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"


def test_the_page_is_current() -> None:
    made, text = functions_markdown(), PAGE.read_text("utf-8")
    made += text[text.index("\n## Regular expressions\n") :]
    assert made_of(PAGE, made) == made


def test_every_function_is_described() -> None:
    for function in FUNCTIONS.values():
        assert f"`{function.usage()}`" in functions_markdown()
        assert function.about


def test_what_a_pattern_captures_is_as_shown() -> None:
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"`(capture\('.*\))` \| `(.*)` \|", text)
    assert len(rows) == 4
    for expression, result in rows:
        assert compiled(expression).search({}) == decode_json(result.encode()), expression
    assert f"at most {LENGTH_MAX:,} characters, and {PROGRAM_MAX:,} steps" in PAGE.read_text(
        "utf-8"
    )
    assert f"at most {WORK_MAX:,}," in PAGE.read_text("utf-8")
