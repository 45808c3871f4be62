"""`router new plugin`: what it writes passes `check` and its own test."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Router

RULES = """version: 1
endpoints:
  shop: {paths: /shop, provider: shopify, verify: none}
rules:
  - id: a
    from: shop
    actions: {python: {call: "stocktaking:run", args: {text: hello}}}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.long
def test_it_passes_check_and_its_own_test(router: Router, tmp_path: Path) -> None:
    Path("rules.yaml").write_text(RULES, "utf-8")
    ran = router("new", "plugin", "stocktaking")
    assert ran.code == 0
    assert 'call: "stocktaking:run"' in ran.out
    assert router("check", "--strict").code == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_it_stands_beside_the_named_rules_file(router: Router) -> None:
    Path("site").mkdir()
    ran = router("new", "plugin", "stocktaking", "-f", "site/rules.yaml", "--json")
    assert '"site/plugins/stocktaking.py"' in ran.out
    assert Path("site/tests/test_stocktaking.py").is_file()


def test_nothing_is_overwritten(router: Router) -> None:
    Path("tests").mkdir()
    Path("tests/test_stocktaking.py").write_text("mine", "utf-8")
    ran = router("new", "plugin", "stocktaking")
    assert (ran.code, Path("plugins").exists()) == (2, False)
    assert "is there already" in ran.err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("json", "a module of Python itself"),
        ("msgspec", "an installed module"),
        ("two words", "cannot be a plugin's name"),
        ("../up", "cannot be a plugin's name"),
        ("class", "cannot be a plugin's name"),
    ],
)
def test_names_that_cannot_be(router: Router, name: str, words: str) -> None:
    ran = router("new", "plugin", name)
    assert ran.code == 2
    assert words in ran.err
