"""CONTRIBUTING.md and tests/README.md name files, folders and commands that are there."""

import re
from pathlib import Path

import pytest

from tests.acceptance.process import ROOT

PAGES = ("CONTRIBUTING.md", "tests/README.md")
TEXTS = {page: (ROOT / page).read_text("utf-8") for page in PAGES}


def paths(text: str) -> set[str]:
    """What stands in code and looks like a path of the project, without placeholders."""
    found = re.findall(r"`((?:router|tests|docs|benchmarks)/[\w./-]*)`", text)
    return {path for path in found if not re.search(r"NAME|CODE", path)}


@pytest.mark.parametrize("page", PAGES)
def test_every_path_is_there(page: str) -> None:
    assert [path for path in paths(TEXTS[page]) if not (ROOT / path).exists()] == []


def test_the_way_of_a_delivery_names_files() -> None:
    assert len(paths(TEXTS["CONTRIBUTING.md"])) > 15


def test_every_folder_of_tests_is_on_the_map() -> None:
    folders = {p.parent.name for p in (ROOT / "tests").glob("*/__init__.py")}
    named = set(re.findall(r"`(\w+)/`", TEXTS["tests/README.md"]))
    assert folders <= named
    assert {f for f in named if not (ROOT / "tests" / f).is_dir()} <= {
        "err",
        "ok",
        "codes",
        "router",
    }


def test_every_command_of_python_is_there() -> None:
    commands = {m for text in TEXTS.values() for m in re.findall(r"python -m ([\w.]+)", text)}
    assert commands
    for command in commands:
        path = Path(ROOT, *command.split("."))
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), command
