"""The page about order: its files load without a word, their tests pass, its reasons are ours."""

from pathlib import Path

import pytest

from router.store.common import chains
from tests.docs.pages import blocks
from tests.rehearsing import prove

PAGE = (Path(__file__).parents[2] / "docs" / "chains.md").read_text("utf-8")
BLOCKS = blocks("chains.md", "yaml")


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_file_loads_and_its_tests_pass(block: str) -> None:
    prove(block)


@pytest.mark.parametrize(
    "word",
    [chains.DEAD, chains.CANCELLED, chains.UNNEEDED, chains.SUPERSEDED, chains.BUSY, "when_error"],
)
def test_every_reason_is_reported(word: str) -> None:
    assert f"`{word}" in PAGE
