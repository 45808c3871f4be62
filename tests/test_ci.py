"""What the checks of a clean checkout say, where they say it by a program of ours."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

PLACE = Path(__file__).parents[1] / ".ci" / "advisories.py"


@pytest.fixture(scope="module")
def advisories() -> Any:
    spec = importlib.util.spec_from_file_location("advisories", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLEAN = {"name": "a", "version": "1", "vulns": []}
OPEN = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "Dependency not found and could not be audited"}
OURS = {"name": "webhook-rules-router", "skip_reason": "distribution marked as editable"}


@pytest.mark.parametrize(
    ("packages", "status", "words"),
    [
        ([CLEAN, OURS], 0, ["1 of 1 packages"]),
        ([CLEAN, OPEN], 1, ["2 of 2 packages", "OPEN: b 2 PYSEC-1, mended in 3"]),
        ([CLEAN, UNKNOWN], 0, ["1 of 2 packages", "NOT SCANNED: c"]),
        ([UNKNOWN, UNKNOWN], 0, ["0 of 2 packages", "it was not reached"]),
    ],
)
def test_no_output_is_no_all_clear(
    advisories: Any, packages: list[dict[str, Any]], status: int, words: list[str]
) -> None:
    lines, found = advisories.verdict({"dependencies": packages})
    assert found == status
    assert len(lines) == len(words)
    assert all(word in line for word, line in zip(words, lines, strict=True))


def test_a_scan_that_did_not_take_place_is_said(
    advisories: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = tmp_path / "report.json"
    monkeypatch.setattr("sys.argv", ["advisories", str(report)])
    assert advisories.main() == 0
    assert "could not be reached" in capsys.readouterr().out
    report.write_text(json.dumps({"dependencies": [OPEN]}))
    assert advisories.main() == 1
