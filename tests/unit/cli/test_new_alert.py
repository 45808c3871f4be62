"""`router new alert`: a file that `check` has nothing to say about, and whose tests pass."""

import json
from pathlib import Path

import pytest

from router.cli.new import ALERT_WAYS
from router.cli.new_alert import AlertTexts
from router.cli.templates import filling
from router.providers import own
from tests.unit.cli.conftest import Router

ALERTS = filling("alerts.yaml", AlertTexts)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def options(way: str) -> list[str]:
    return ["--to", way, *(["--address", "ops@example.net"] if way == "email" else [])]


@pytest.mark.parametrize("way", ALERT_WAYS)
def test_what_it_writes_passes_check_and_its_own_test(way: str, router: Router) -> None:
    ran = router("new", "alert", "alerts.yaml", *options(way))
    assert (ran.code, ALERTS.ways[way].variable in ran.out) == (0, True)
    rules = "version: 1\ninclude: [alerts.yaml]\n"
    Path("rules.yaml").write_text(rules, "utf-8")
    checked = router("check", "--strict")
    assert (checked.code, checked.err) == (0, "")
    assert router("test").out.endswith("3 passed, 0 failed\n")


def test_several_are_told_side_by_side(router: Router) -> None:
    for way in ALERT_WAYS:
        assert router("new", "alert", f"{way}.yaml", *options(way)).code == 0
    Path("rules.yaml").write_text('version: 1\ninclude: ["*.yaml"]\n', "utf-8")
    assert router("check", "--strict").code == 0
    assert router("test").out.endswith(f"{3 * len(ALERT_WAYS)} passed, 0 failed\n")


@pytest.mark.parametrize("way", [way for way in ALERT_WAYS if way != "email"])
def test_without_a_file_it_is_printed(way: str, router: Router) -> None:
    router("new", "alert", "alerts.yaml", "--to", way)
    text = Path("alerts.yaml").read_text("utf-8")
    assert router("new", "alert", "--to", way).out == text
    found = json.loads(router("new", "alert", "--to", way, "--json").out)
    assert found == {"rules": text, "variable": ALERTS.ways[way].variable}


def test_a_plugin_that_is_there_stays_as_it_is(router: Router) -> None:
    for name in ("a.yaml", "b.yaml"):
        assert router("new", "alert", name, *options("email")).code == 0
        if name == "a.yaml":
            plugin = Path("plugins/alert_mail.py")
            mine = plugin.read_text("utf-8") + "# mine\n"
            plugin.write_text(mine, "utf-8")
    assert plugin.read_text("utf-8") == mine


def test_every_event_is_told_but_those_that_another_tells() -> None:
    known = {event.name for event in own().events}
    assert set(ALERTS.events) == known - {"job.dead", "target.open"}


def test_the_options_are_the_ways_that_there_are() -> None:
    assert set(ALERTS.ways) == set(ALERT_WAYS)


def test_an_old_file_is_left_alone(router: Router) -> None:
    Path("alerts.yaml").write_text("mine", "utf-8")
    ran = router("new", "alert", "alerts.yaml", "--to", "slack")
    assert (ran.code, "exists already" in ran.err) == (2, True)
    assert Path("alerts.yaml").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("way", "more", "said"),
    [
        ("email", [], "--to email needs --address"),
        ("slack", ["--address", "a@b.example"], "nothing else takes it"),
        ("email", ["--address", "a@b.example\nBcc: c@d.example"], "is no e-mail address"),
        ("email", ["--address", "a@b.example"], "name a file"),
        ("fax", [], "'fax' is not one of"),
    ],
)
def test_what_cannot_be_is_said(way: str, more: list[str], said: str, router: Router) -> None:
    ran = router("new", "alert", "--to", way, *more)
    assert (ran.code, said in ran.err) == (2, True)
    assert ran.out == ""


def test_what_is_made_can_be_read_by_programs(router: Router) -> None:
    ran = router("new", "alert", "a.yaml", "--to", "ntfy", "--json")
    assert json.loads(ran.out) == {"file": "a.yaml", "variable": "NTFY_URL"}
