"""What went is refused by name, with what to do instead: words of a command line, and keys."""

import pytest

from router.config import load
from router.config.removed import refused


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("rules publish rules.yaml --dry-run", "copy the rules file to each router"),
    ],
)
def test_words_that_went_are_refused_by_name(words: str, part: str) -> None:
    assert part in (refused(words.split()) or "")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("server: {rules: published}", "rules"),
        ("server: {admin: {advertise: {env: POD_IP}}}", "advertise"),
    ],
)
def test_keys_that_went_are_refused_by_name(text: str, key: str) -> None:
    found = load(f"version: 1\n{text}\n", path="rules.yaml", env={}).diagnostics
    assert [(one.code, one.message.split()[0]) for one in found if one.severity == "error"] == [
        ("not-available", f"'{key}'")
    ]
