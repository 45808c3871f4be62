"""The page about targets: its file loads without a word, its figures are those of the code."""

from pathlib import Path

import pytest

from router.config import load, render_text
from router.dispatch import breaker, fairness, retry_budget
from router.dispatch.slots import TOTALS
from router.model.retry import AGE_LIMIT_MS
from router.serving import failure_detector
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
        f"when {breaker.RATIO:.0%} of at least {breaker.ATTEMPTS} attempts".replace("%", " %"),
        f"or {breaker.REFUSALS} attempts in a row could",
        f"after {breaker.FIRST_WAIT_MS // 1000} seconds",
        f"up to {breaker.LONGEST_WAIT_MS // 60_000} minutes, ± {breaker.JITTER:.0%}".replace(
            "%", " %"
        ),
        f"After {breaker.GIVE_UP_MS // 3_600_000} hours",
        f"gets {breaker.FIRST_SLOTS} calls at once and {breaker.FIRST_PACE:.0f} a second",
        f"every {breaker.STEP_MS // 1000} seconds without",
        f"more than {retry_budget.OF_USUAL}",
        f"limited to {retry_budget.OF_USUAL - 1:.1f} times its usual calls per second",
        f"what is left of {retry_budget.LEAST:.0f} a second",
        f"in the last {fairness.FRESH_MS // 1000} seconds",
        f"run for {AGE_LIMIT_MS // 86_400_000} days",
        f"({TOTALS['http']} calls, {TOTALS['shell']} commands, {TOTALS['python']} plugins at once)",
        f"after some {failure_detector.CLOSED_S:.0f} seconds if its connections are closed",
        f"connections are closed, else {failure_detector.GONE_S:.0f}.",
    ],
)
def test_a_figure_is_that_of_the_code(words: str) -> None:
    assert words in PAGE
