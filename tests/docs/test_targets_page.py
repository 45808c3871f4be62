"""The page about targets: its file loads without a word, its figures are those of the code."""

from pathlib import Path

import pytest

from router.config import load, render_text
from router.dispatch import fresh, gate
from router.model.retry import AGE_LIMIT_MS
from tests.docs.pages import blocks

PAGE = (Path(__file__).parents[2] / "docs" / "targets.md").read_text("utf-8")
BLOCKS = blocks("targets.md", "yaml")


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_file_loads(block: str) -> None:
    loaded = load(block, path="rules.yaml", env={})
    assert render_text(loaded.diagnostics) == ""
    assert loaded.ruleset is not None
    targets = loaded.ruleset.targets
    assert (targets["erp"].breaker, targets["wiki"].breaker) == (True, False)


@pytest.mark.parametrize(
    "words",
    [
        f"when {gate.RATIO:.0%} of at least {gate.ATTEMPTS} attempts".replace("%", " %"),
        f"or {gate.REFUSALS} attempts in a row could",
        f"after {gate.FIRST_OPEN_MS // 1000} seconds",
        f"up to {gate.LONGEST_OPEN_MS // 60_000} minutes, ± {gate.JITTER:.0%}".replace("%", " %"),
        f"After {gate.GIVE_UP_MS // 3_600_000} hours",
        f"gets {gate.FIRST_SLOTS} calls at once and {gate.FIRST_PACE:.0f} a second",
        f"every {gate.STEP_MS // 1000} seconds without",
        f"faster than {gate.OF_USUAL}",
        f"in the last {fresh.FRESH_MS // 1000} seconds",
        f"run for {AGE_LIMIT_MS // 86_400_000} days",
    ],
)
def test_a_figure_is_that_of_the_code(words: str) -> None:
    assert words in PAGE
