"""docs/providers.md and the pages in docs/providers/ say what the definitions say."""

from pathlib import Path

import pytest

from router.providers import Provider, builtin
from tests.golden.made import made_of
from tests.golden.provider_pages import facts, page_name, refreshed
from tests.unit.providers.makers import a_definition

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [DOCS / "providers.md", *sorted((DOCS / "providers").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_is_current(page: Path) -> None:
    made = refreshed(page.read_text("utf-8"), builtin())
    assert made_of(page, made) == made


@pytest.mark.parametrize("name", sorted({p.name for p in builtin().values()}))
def test_every_provider_has_a_page_of_its_own(name: str) -> None:
    provider = builtin()[name]
    page = DOCS / "providers" / f"{page_name(provider)}.md"
    assert page.exists(), "write its title, its `about` and an empty facts block, see CONTRIBUTING"
    text = page.read_text("utf-8")
    assert text.startswith(f"# {provider.label}\n\n{provider.definition.about}\n")
    assert facts(provider) in text


def test_pages_and_providers_are_the_same() -> None:
    named = {page_name(provider) for provider in builtin().values()}
    assert {page.stem for page in PAGES[1:]} == named


def test_a_stale_block_is_rewritten() -> None:
    text = "a\n<!-- facts: email -->\nold\n<!-- end -->\nb\n"
    fresh = refreshed(text, builtin())
    assert "old" not in fresh
    assert "`sg_event_id`" in fresh
    assert refreshed(fresh, builtin()) == fresh


def test_a_block_of_nobody_is_an_error() -> None:
    with pytest.raises(KeyError):
        refreshed("<!-- facts: nobody -->\n<!-- end -->", builtin())


def test_an_unsigned_provider_says_so() -> None:
    shown = facts(Provider(a_definition(verify={"scheme": "none"})))
    assert "| Proof | none |" in shown
    assert "Answer expected" not in shown
