"""Ready-to-paste lines."""

from pathlib import Path

from router.cli.dev_hints import hints, program_name
from router.wiring.rules import read_rules
from tests.unit.cli.conftest import EXAMPLE


def test_each_endpoint_gets_an_event_that_a_rule_of_it_waits_for() -> None:
    ruleset = read_rules(EXAMPLE, environ={}, dev=True).ruleset
    assert ruleset is not None
    assert hints(ruleset, Path("my rules.yaml"), program="router") == [
        "router send -f 'my rules.yaml' shop orders/paid",
        "router send -f 'my rules.yaml' mail bounce",
        "router send -f 'my rules.yaml' code workflow_run.completed",
        "router send -f 'my rules.yaml' privacy customers/redact",
        "router send -f 'my rules.yaml' probe push",
    ]


def test_the_usual_file_needs_no_option(rules: Path) -> None:
    ruleset = read_rules(rules, environ={}, dev=True).ruleset
    assert ruleset is not None
    assert hints(ruleset, Path("rules.yaml"), program="r")[0] == "r send shop orders/paid"


def test_a_glob_is_answered_with_an_event_that_fits(rules: Path) -> None:
    rules.write_text(rules.read_text("utf-8").replace("orders/paid", "refunds/*"), "utf-8")
    ruleset = read_rules(rules, environ={}, dev=True).ruleset
    assert ruleset is not None
    assert hints(ruleset, rules, program="r")[0].endswith(" shop refunds/create")


def test_the_program_is_called_as_it_can_be_called_again(tmp_path: Path) -> None:
    script = tmp_path / "router"
    script.write_text("#!/bin/sh\n", "utf-8")
    script.chmod(0o755)
    assert program_name(".venv/bin/router", str(tmp_path)) == "router"
    assert program_name(".venv/bin/router", "/nonexistent") == ".venv/bin/router"
    assert program_name("/x/router/__main__.py", None).endswith(" -m router")
    assert program_name("/usr/bin/pytest", None) == "router"
