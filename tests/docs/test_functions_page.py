"""docs/functions.md is the text the table gives."""

from pathlib import Path

from router.expressions import FUNCTIONS
from tests.docs.functions_page import functions_markdown
from tests.golden.made import made_of

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"


def test_the_page_is_current() -> None:
    assert made_of(PAGE, functions_markdown()) == functions_markdown()


def test_every_function_is_described() -> None:
    for function in FUNCTIONS.values():
        assert f"`{function.usage()}`" in functions_markdown()
        assert function.about
