"""The page about our own events: its files load, their tests pass, its tables are right."""

import json
import random
import re
from pathlib import Path

import pytest

from router.cli.new import ALERT_WAYS
from router.config import load, render_text
from router.providers import own
from router.rehearsal import TrialRunner
from router.rules.own_events import DIAGNOSTICS_MAX, REASON_MAX, SAID_MAX, TEXT_MAX
from router.serving import conditions
from router.serving.death_alerts import INTERVAL_MS, LISTED
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


def test_its_table_has_the_fields_of_all_but_the_older_name() -> None:
    rows = re.findall(r"^\| `(\w+\.\w+)` \|.*\| (.*) \|$", PAGE, re.MULTILINE)
    shown = {name: re.findall(r"`(\w+)`", fields) for name, fields in rows}
    known = {name: own().sample(name) for name in NAMES if name != "target.open"}
    assert shown == {
        name: [key for key in fields if key != "text"] for name, fields in known.items()
    }


def test_its_payload_is_the_sample() -> None:
    (block,) = blocks("own-events.md", "json")
    assert json.loads(block) == own().sample("jobs.dead")


def test_it_names_every_way_of_an_alert() -> None:
    named = PAGE.split("| | needs |")[1].split("\n\n")[0]
    shown = [way for row in named.splitlines()[2:] for way in row.split(" | ")[0].split("`")[1::2]]
    assert sorted(shown) == sorted(ALERT_WAYS)


@pytest.mark.parametrize(
    "words",
    [
        f"{REASON_MAX} characters",
        f"last {TEXT_MAX:,}",
        f"`diagnostics` has {DIAGNOSTICS_MAX:,}",
        f"refused {conditions.REFUSED_MIN} requests",
        f"{SAID_MAX:,} characters",
        f"the {LISTED} that lost most",
        f"{INTERVAL_MS // 60_000} minutes later",
        f"within {conditions.ERRING_MS // 60_000} minutes its condition erred",
        f"erred on {conditions.ERRED_MIN} events",
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
