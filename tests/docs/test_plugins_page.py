"""The plugin of docs/plugins.md passes `check`, its own test, and a run in a real child."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from router.config import load, render_text

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")
FILES = dict(re.findall(r"^```\w+\n# ([\w/.]+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_the_files_of_the_page() -> None:
    assert set(FILES) == {"plugins/stock.py", "rules.yaml", "tests/test_stock.py"}


def test_check_has_nothing_to_say(site: Path) -> None:
    found = load(FILES["rules.yaml"], path=str(site / "rules.yaml"), env={})
    assert render_text(found.diagnostics) == ""
    assert found.ruleset is not None


def test_a_misspelt_argument_is_found(site: Path) -> None:
    text = FILES["rules.yaml"].replace("warehouse:", "werehouse:")
    found = load(text, path=str(site / "rules.yaml"), env={})
    assert "did you mean 'warehouse'?" in render_text(found.diagnostics)


def test_its_test_passes(site: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
