"""The page about our own events: its files load, their tests pass, its tables are right."""

import json
import random
import re
from pathlib import Path

import pytest

from router.config import load, render_text
from router.providers import own
from router.rehearsal import TrialRunner
from router.rules.own_events import DIAGNOSTICS_MAX, REASON_MAX, TEXT_MAX
from router.serving import conditions
from tests.docs.pages import blocks

PAGE = (Path(__file__).parents[2] / "docs" / "own-events.md").read_text("utf-8")
BLOCKS = blocks("own-events.md", "yaml")
NAMES = [event.name for event in own().events]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_file_loads_and_its_tests_pass(block: str) -> None:
    loaded = load(block, path="rules.yaml", env={})
    assert render_text(loaded.diagnostics) == ""
    assert loaded.ruleset is not None
    assert loaded.trials
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(1).randbytes)
    for trial in loaded.trials:
        assert runner.run(trial).failures == ()


def test_its_table_lists_the_catalogue() -> None:
    assert sorted(re.findall(r"^\| `([a-z.]+)` \|", PAGE, re.MULTILINE)) == sorted(NAMES)


def test_its_payloads_are_the_samples() -> None:
    (block,) = blocks("own-events.md", "json")
    shown = {
        name: payload for line in block.splitlines() for name, payload in json.loads(line).items()
    }
    assert shown == {name: own().sample(name) for name in NAMES}


@pytest.mark.parametrize(
    "words",
    [
        f"{REASON_MAX} characters",
        f"last {TEXT_MAX:,}",
        f"`diagnostics` has {DIAGNOSTICS_MAX:,}",
        f"refused {conditions.REFUSED_MIN} requests",
        f"within {conditions.WINDOW_MS // 60_000} minutes",
        f"{conditions.FILLING:.0%}".replace("%", " %"),
        f"below {conditions.ROOM_AGAIN:.0%}, or {conditions.DISK_ROOM_AGAIN:.0%}".replace(
            "%", " %"
        ),
        f"{conditions.DISK_FILLING:.0%} full".replace("%", " %"),
    ],
)
def test_its_figures_are_ours(words: str) -> None:
    assert words in PAGE
