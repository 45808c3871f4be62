"""docs/privacy.md: what it shows is done, and its figures are those of the code."""

import json
import shlex
from pathlib import Path

import pytest

from router.actions.child import KEEP
from router.config import load, render_text
from router.serving.upkeep import AUDIT_MS
from tests.acceptance.process import ROOT
from tests.docs.pages import blocks, lines
from tests.unit.cli.conftest import Router, router, rules
from tests.unit.cli.test_stored import Ledger, ledger

__all__ = ["ledger", "router", "rules"]

PAGE = (ROOT / "docs" / "privacy.md").read_text("utf-8")


@pytest.mark.parametrize(
    "line", [line for line in lines("privacy.md") if line.startswith("router export")]
)
def test_an_export_is_written(
    line: str, router: Router, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert router(*shlex.split(line)[1:]).code == 0
    assert json.loads((tmp_path / "ann.json").read_text("utf-8"))["deliveries"] == []


@pytest.mark.parametrize("text", blocks("privacy.md", "yaml"))
def test_its_rules_are_right(text: str) -> None:
    loaded = load(text, path="rules.yaml", env={})
    assert render_text(loaded.diagnostics) == ""


def test_its_figures_are_those_of_the_code() -> None:
    assert f"{AUDIT_MS // 86_400_000} days" in PAGE
    assert f"{KEEP // 1024} KiB at most" in PAGE
