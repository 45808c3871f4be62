"""
docs/dev/benchmarks.md and its picture say what benchmarks/figures.json says.

GOLDEN=write makes both anew from that file.
"""

import re
import subprocess
import sys

import pytest

from benchmarks import figures
from benchmarks.__main__ import ALL, HEAVY, NAMED, PRESSURE, SHORT, arguments
from benchmarks.page import COMMITTED, PAGE, PICTURE, QUESTIONS, answers, filled
from benchmarks.peers import VARIABLES
from benchmarks.picture import draw
from tests.acceptance.process import ROOT
from tests.golden.made import made_of

TEXT = PAGE.read_text("utf-8")
FOUND = figures.read(COMMITTED)


def test_the_page_says_what_was_measured() -> None:
    made = filled(TEXT, FOUND)
    assert made_of(PAGE, made) == made


def test_the_picture_shows_what_was_measured() -> None:
    assert made_of(PICTURE, draw(FOUND)) == draw(FOUND)
    assert f"pictures/{PICTURE.name}" in TEXT


def test_what_is_committed_is_a_whole_run() -> None:
    assert list(FOUND.rows) == list(ALL)
    assert len(FOUND.histograms) == 4


def test_every_question_of_sizing_is_answered() -> None:
    assert [question for question, _ in answers(FOUND)] == [q for q, _, _ in QUESTIONS]


def test_the_page_tells_of_every_benchmark_once() -> None:
    found = [re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) for part in parts()]
    named = SHORT, HEAVY | PRESSURE, NAMED
    assert [sorted(one) for one in found] == [sorted(one) for one in named]


def parts() -> tuple[str, str, str]:
    reported = TEXT.partition("## What is measured")[2].partition("## The others")[0]
    first, _, rest = reported.partition("The heavy ones run by name")
    second, _, third = rest.partition("Five run by name alone")
    return first, second, third


@pytest.mark.parametrize("variable", VARIABLES.values())
def test_the_page_names_the_variable_of_each_program(variable: str) -> None:
    assert f"| `{variable}` |" in TEXT


@pytest.mark.long
def test_the_committed_run_is_no_worse_than_itself() -> None:
    command = [sys.executable, "-m", "benchmarks", "--show", str(COMMITTED), "--strict"]
    ran = subprocess.run(
        [*command, "--compare", str(COMMITTED)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "0 worse, 0 better" in ran.stdout


@pytest.mark.parametrize(
    "line", [one for one in TEXT.split("```")[1].splitlines() if one.startswith("python")]
)
def test_each_command_shown_is_one(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not run (minutes): with a name that is not there it is read, and refused for that."""
    python, m, benchmarks, *words = line.partition("#")[0].split()
    assert (python, m, benchmarks) == ("python", "-m", "benchmarks")
    with pytest.raises(SystemExit, match="2"):
        arguments([*words, "no-such-name"])
    assert "no such benchmark: no-such-name" in capsys.readouterr().err
