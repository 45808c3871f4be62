"""Commands and options that went are refused by name, with what to do instead."""

import pytest

from tests.unit.cli.conftest import Router


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("store migrate --check", "it only looks"),
        ("store migrate --dry-run", "it only looks"),
    ],
)
def test_what_went_is_refused_by_name(router: Router, words: str, instead: str) -> None:
    ran = router(*words.split())
    assert ran.code == 2
    assert "is not available in this version" in ran.err
    assert instead in ran.err
