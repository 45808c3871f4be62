"""Commands and options that went are refused by name, with what to do instead."""

import pytest

from tests.unit.cli.conftest import Router


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("check --cost", "docs/explain.md"),
        ("check --format gitlab", "sarif"),
        ("check --format=junit", "`router test --junit FILE`"),
        ("check --min-score 80", "--min-coverage"),
        ("check rules.yaml --mutate", "--coverage"),
        ("completion install zsh", "`router completion SHELL` prints the script"),
        ("rules publish rules.yaml --dry-run", "copy the rules file to each router"),
        ("send shop --all", "loop over the events in a shell"),
        ("send mail bounce --batch=3", "send a body of several events with --payload FILE"),
        ("shapes learn --endpoint shop", "docs/types.md"),
        ("store migrate --check", "it only looks"),
        ("store migrate --dry-run", "it only looks"),
    ],
)
def test_what_went_says_what_to_do(line: str, instead: str, router: Router) -> None:
    ran = router(*line.split())
    assert (ran.code, ran.out) == (2, "")
    assert "is not available in this version of the router" in ran.err
    assert instead in ran.err
