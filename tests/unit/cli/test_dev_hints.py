"""Ready-to-paste lines."""

from pathlib import Path

import pytest

from router.cli.dev_hints import hints, program_name
from router.cli.options import Options
from tests.unit.cli.conftest import EXAMPLE


def lines(rules: Path, **said: str | None) -> list[str]:
    """What `serve --dev` prints for these rules, begun with these options."""
    place = Options(rules=rules, dev=True, **said)  # type: ignore[arg-type]
    ruleset = place.loaded().ruleset
    assert ruleset is not None
    return hints(place, ruleset, program="router")


def test_each_endpoint_gets_an_event_that_a_rule_of_it_waits_for(tmp_path: Path) -> None:
    rules = tmp_path / "my rules.yaml"
    rules.write_text(EXAMPLE.read_text("utf-8"), "utf-8")
    assert lines(rules) == [
        f"router send -f '{rules}' shop orders/paid",
        f"router send -f '{rules}' mail bounce",
        f"router send -f '{rules}' code workflow_run.completed",
        f"router send -f '{rules}' privacy customers/redact",
        f"router send -f '{rules}' probe push",
    ]


def test_the_usual_file_needs_no_option(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(rules.parent)
    assert lines(Path("rules.yaml"))[0] == "router send shop orders/paid"


def test_what_was_said_in_place_of_the_file_is_said_to_send_too(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an option or by a variable: the other terminal has neither."""
    monkeypatch.chdir(rules.parent)
    here = Path("rules.yaml")
    assert lines(here, listen="127.0.0.1:8123", admin="127.0.0.1:8124")[0] == (
        "router send --listen 127.0.0.1:8123 shop orders/paid"
    )
    assert lines(here, store="x.db")[0] == "router send --store x.db --dev shop orders/paid"
    (rules.parent / "router.db").touch()  # of another, real server: `send` would take its secrets
    assert lines(here)[0] == "router send --dev shop orders/paid"


def test_an_event_that_the_catalogue_lacks_is_forced(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules.write_text(rules.read_text("utf-8").replace("orders/paid", "orders/new_thing"), "utf-8")
    monkeypatch.chdir(rules.parent)
    assert lines(Path("rules.yaml"))[0] == "router send shop orders/new_thing --force"


def test_a_glob_is_answered_with_an_event_that_fits(rules: Path) -> None:
    rules.write_text(rules.read_text("utf-8").replace("orders/paid", "refunds/*"), "utf-8")
    assert lines(rules)[0].endswith(" shop refunds/create")


def test_the_program_is_called_as_it_can_be_called_again(tmp_path: Path) -> None:
    script = tmp_path / "router"
    script.write_text("#!/bin/sh\n", "utf-8")
    script.chmod(0o755)
    assert program_name(".venv/bin/router", str(tmp_path)) == "router"
    assert program_name(".venv/bin/router", "/nonexistent") == ".venv/bin/router"
    assert program_name("/x/router/__main__.py", None).endswith(" -m router")
    assert program_name("/usr/bin/pytest", None) == "router"
