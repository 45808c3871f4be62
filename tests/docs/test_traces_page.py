"""The page about traces: its variables, names and attributes are those of the program."""

import re
import tomllib
from pathlib import Path

from opentelemetry.sdk.trace.export import BatchSpanProcessor

from router.errors import StoreUnavailable
from router.intake.observed import CommitFailed, DeliveryRouted
from router.rules.plan import Plan
from router.store.values import Accepted
from router.wiring.spans import LAST_S
from router.wiring.traces import QUIET_S, SWITCHES, wanted
from tests.builders import a_delivery, an_event
from tests.docs.pages import block
from tests.unit.wiring.test_spans import Rig, ended, stored

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "traces.md").read_text("utf-8")
HAPPENED = (
    stored(Accepted("dlv_1"), events=(an_event(), an_event())),
    DeliveryRouted(0.1, a_delivery(), Plan("routed", (), (), (), (), ())),
    CommitFailed("shop", StoreUnavailable("gone"), a_delivery()),
    ended("failed", {"status": 503}, replay_of="job_1"),
    ended("failed", {"exit": 1}, kind="shell"),
)


def test_its_attributes_are_those_of_the_spans() -> None:
    rows = re.findall(r"^\| (`(?:messaging|router|http|error)[^|]*) \|", PAGE, re.MULTILINE)
    made = {name for e in HAPPENED for name in Rig().one(e).attributes or {}}
    assert {name for row in rows for name in re.findall("`([^`]+)`", row)} == made


def test_its_spans_are_those_that_are_made() -> None:
    verbs = {Rig().one(e).name.split(" ")[0] for e in HAPPENED}
    assert set(re.findall(r"^\| `([a-z]+) [A-Z/]+` \|", PAGE, re.MULTILINE)) == verbs
    tree = PAGE.partition("\n```\naccept")[2].partition("```")[0]
    assert {"accept", *re.findall(r"─ ([a-z]+) ", tree)} == verbs


def test_what_turns_them_on_does() -> None:
    install, variable, serve = block("traces.md", "sh").splitlines()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert install == f"pip install '{extras['name']}[otel]'"
    assert "otel" in extras["optional-dependencies"]
    name, value = variable.removeprefix("export ").split("=")
    assert wanted({name: value}) == name
    assert serve.startswith("router serve")
    assert all(f"`{switch}`" in PAGE for switch in SWITCHES)


def test_its_times_and_numbers() -> None:
    assert (LAST_S, QUIET_S) == (2.0, 60.0)
    assert "up to two seconds" in PAGE
    assert "once a minute" in PAGE
    waits = BatchSpanProcessor._default_max_queue_size()
    delay = BatchSpanProcessor._default_schedule_delay_millis()
    assert f"({waits}), and how long ({delay} ms)" in " ".join(PAGE.split())
