"""The page about order: its files load without a word, their tests pass, its reasons are ours."""

import re
from pathlib import Path

import pytest

from router.kinds import KINDS
from router.store.common import chains
from tests.docs.pages import blocks
from tests.rehearsing import prove

PAGE = (Path(__file__).parents[2] / "docs" / "chains.md").read_text("utf-8")
BLOCKS = blocks("chains.md", "yaml")


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_file_loads_and_its_tests_pass(block: str) -> None:
    prove(block)


def test_check_knows_the_results_that_the_page_lists_and_no_others() -> None:
    table = PAGE.partition("### Results")[2].partition("###")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE)
    listed = {kind: set(re.findall(r"`(\w+)`", fields.split(" if ")[0])) for kind, fields in rows}
    assert listed == {name: set(kind.result.types) for name, kind in KINDS.items()}


@pytest.mark.parametrize(
    "word",
    [chains.DEAD, chains.CANCELLED, chains.UNNEEDED, chains.SUPERSEDED, chains.BUSY, "when_error"],
)
def test_every_reason_is_reported(word: str) -> None:
    assert f"`{word}" in PAGE
