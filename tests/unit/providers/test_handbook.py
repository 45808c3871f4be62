"""docs/providers.md says what the definitions say."""

from pathlib import Path

import pytest

from router.providers import Provider, builtin
from router.providers.handbook import facts, refreshed
from tests.unit.providers.makers import PROVIDERS, a_definition

PAGE = Path(__file__).parents[3] / "docs" / "providers.md"
REFRESH = """write it anew:
python -c "from pathlib import Path; from router.providers import builtin;
from router.providers.handbook import refreshed; p = Path('docs/providers.md');
p.write_text(refreshed(p.read_text('utf-8'), builtin()), 'utf-8')"
"""


def test_the_page_is_current() -> None:
    text = PAGE.read_text("utf-8")
    assert refreshed(text, builtin()) == text, REFRESH


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_page_holds_every_provider_whole(name: str) -> None:
    assert facts(builtin()[name]) in PAGE.read_text("utf-8")


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
    assert "| Signature | none |" in shown
    assert "Answer expected" not in shown
