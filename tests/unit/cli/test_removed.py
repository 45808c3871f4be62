"""What this router has no more is refused by name, with what to do instead."""

import pytest

from tests.unit.cli.conftest import Router

WORDS = (
    ("check --cost", "docs/explain.md"),
    ("check --format gitlab", "sarif"),
    ("check --format=junit", "`router test --junit FILE`"),
    ("check --min-score 80", "--min-coverage"),
    ("check rules.yaml --mutate", "--coverage"),
    ("shapes learn --endpoint shop", "docs/types.md"),
)


@pytest.mark.parametrize(("words", "instead"), WORDS)
def test_a_command_line_is_refused_with_what_to_do(
    words: str, instead: str, router: Router
) -> None:
    ran = router(*words.split())
    assert (ran.code, ran.out) == (2, "")
    assert "is not available in this version of the router" in ran.err
    assert instead in ran.err
