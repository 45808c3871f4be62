"""Runs the tests of a rules file given as text."""

import random
from pathlib import Path

from router.config import load, render_text
from router.rehearsal import TrialResult, TrialRunner

HEAD = """\
version: 1
secrets: {shop: {env: A}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
rules:
"""


def rehearse(text: str, path: Path = Path("rules.yaml")) -> list[TrialResult]:
    """What came of each test of a right file, read as if it lay at `path`."""
    loaded = load(text, path=str(path), env={}, tests=True)
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(7).randbytes)
    return [runner.run(trial) for trial in loaded.trials]


def prove(text: str) -> int:
    """A rules file loads without a word, and its tests pass; how many it has."""
    loaded = load(text, path="rules.yaml", env={})
    assert render_text(loaded.diagnostics) == ""
    assert loaded.ruleset is not None
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(1).randbytes)
    for trial in loaded.trials:
        assert runner.run(trial).failures == ()
    return len(loaded.trials)


def said(text: str, path: Path = Path("rules.yaml")) -> list[str]:
    """Every line about a test that failed."""
    return [line for result in rehearse(text, path) for line in result.failures]


def found(text: str, path: Path = Path("rules.yaml")) -> list[str]:
    """What loading says of the file, a line each: code, message, hint."""
    loaded = load(text, path=str(path), env={}, tests=True)
    return [
        f"{d.code}: {d.message}" + (f" ({d.hint})" if d.hint else "") for d in loaded.diagnostics
    ]
