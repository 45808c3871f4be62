"""The page about order: its files load without a word, their tests pass, its reasons are ours."""

import random
from pathlib import Path

import pytest

from router.config import load, render_text
from router.rehearsal import TrialRunner
from router.store.common import chains
from tests.docs.pages import blocks

PAGE = (Path(__file__).parents[2] / "docs" / "chains.md").read_text("utf-8")
BLOCKS = blocks("chains.md", "yaml")


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_file_loads_and_its_tests_pass(block: str) -> None:
    loaded = load(block, path="rules.yaml", env={})
    assert render_text(loaded.diagnostics) == ""
    assert loaded.ruleset is not None
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(1).randbytes)
    for trial in loaded.trials:
        assert runner.run(trial).failures == ()


@pytest.mark.parametrize(
    "word",
    [chains.DEAD, chains.CANCELLED, chains.UNNEEDED, chains.SUPERSEDED, chains.BUSY, "when_error"],
)
def test_every_reason_is_reported(word: str) -> None:
    assert f"`{word}" in PAGE
