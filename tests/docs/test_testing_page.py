"""docs/testing.md: its tests pass, its lines work, and its failure is the one that comes."""

import re
from pathlib import Path

import pytest

from router.cli.main import run
from router.config import trial_schema
from router.yaml_source import Entry, OpenEntry
from tests.acceptance.process import ROOT
from tests.docs.entries import keys
from tests.docs.pages import blocks, reading, steps

PAGE = (ROOT / "docs" / "testing.md").read_text("utf-8")


@pytest.mark.long
def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        for kind, text in steps("testing.md"):
            if kind == "yaml":
                reader.write(text)
            else:
                reader.do(text)
    assert "<testsuite" in (tmp_path / "results.xml").read_text("utf-8")


def test_the_failure_shown_comes_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    rules = blocks("testing.md", "yaml")[0]
    wrong = rules.replace("country_code: DE, name", "country_code: US, name")
    (tmp_path / "rules.yaml").write_text(wrong, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["test", "rules.yaml"], {}) == 1
    assert capsys.readouterr().out.startswith(shown)


def test_the_second_file_passes_once_its_snapshot_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.yaml").write_text(blocks("testing.md", "yaml")[1], "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["check", "rules.yaml"], {}) == 0
    assert run(["test", "rules.yaml", "--update"], {}) == 0
    assert run(["test", "rules.yaml"], {}) == 0
    assert capsys.readouterr().out.endswith("2 passed, 0 failed\n")


def test_the_tests_of_the_example_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["test", str(ROOT / "rules.example.yaml")], {}) == 0
    assert " passed, 0 failed" in capsys.readouterr().out


def test_every_key_is_described() -> None:
    kinds = [one for one in vars(trial_schema).values() if isinstance(one, type)]
    for kind in (one for one in kinds if issubclass(one, Entry) and one not in (Entry, OpenEntry)):
        for key in {*keys(kind)} - {kind.shorthand}:
            assert re.search(rf"`[^`]*\b{key}\b", PAGE), key
