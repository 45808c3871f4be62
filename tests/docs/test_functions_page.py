"""docs/functions.md is the text the table gives."""

from pathlib import Path

from router.expressions import FUNCTIONS, functions_markdown

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == functions_markdown(), (
        "write it anew: python -c 'from router.expressions import functions_markdown as page; "
        'print(page(), end="")\' > docs/functions.md'
    )


def test_every_function_is_described() -> None:
    for function in FUNCTIONS.values():
        assert f"`{function.usage()}`" in functions_markdown()
        assert function.about
