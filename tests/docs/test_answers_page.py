"""docs/answers.md: the deadlines are those of the table that the listener goes by."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from router.cli.main import run
from router.config.settings import _LIMITS
from router.model.settings import Limits
from router.web.connections import allowed_s
from router.web.phases import PHASES, Phase
from tests.docs.pages import block

PAGE = Path(__file__).parents[2] / "docs" / "answers.md"
_ENDS = {"gone": "the connection is dropped", "idle": "the connection is closed"}


def _rows(phase: Phase) -> Iterator[str]:
    settings = {field: f"`{name}`" for name, (field, _) in _LIMITS.items()}
    end = f"`{phase.status}` `{phase.word}`" if phase.status else _ENDS[phase.word]
    for bound in phase.bounds:
        seconds = allowed_s(Limits())[bound.setting]
        cells = (phase.name, f"{seconds:g} s", bound.start, settings.get(bound.setting, ""), end)
        yield "| " + " | ".join(cells).replace("|  |", "| |") + " |"


def test_the_deadlines_are_those_of_the_phases() -> None:
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("## How long the listener waits")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert table == [row for phase in PHASES for row in _rows(phase)]


def test_the_tests_of_the_example_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.yaml").write_text(block("answers.md", "yaml"), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["check", "rules.yaml"], {}) == 0
    assert run(["test", "rules.yaml"], {}) == 0
    assert capsys.readouterr().out.endswith(" passed, 0 failed\n")
    (tmp_path / "deploy.json").write_text('{"command": "/deploy"}', "utf-8")
    words = "explain --payload deploy.json --endpoint commands --event /deploy"
    assert run(words.split(), {}) == 0
    line = (
        r'answer    200 "{\"text\":\"on its way\"}"; answer.json.text: {{ payload.text }} is null'
    )
    assert line in capsys.readouterr().out
