"""The example plugins, importable as the router imports them."""

import sys
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[2] / "plugins"


@pytest.fixture(autouse=True)
def _plugins_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(PLUGINS)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
