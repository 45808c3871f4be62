"""Programs and folders that shell actions name by a relative path."""

from pathlib import Path

import pytest

from router.config import load

HEAD = """\
version: 1
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}
rules:
  - id: a
    from: shop
    actions:
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, mode in (("bin/good", 0o755), ("bin/plain", 0o644), ("site/run", 0o755)):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\n", "utf-8")
        file.chmod(mode)
    return tmp_path


def said(folder: Path, shell: str) -> list[tuple[str, str]]:
    text = HEAD + f"      shell: {shell}\n"
    found = load(text, path=str(folder / "rules.yaml"), env={}, thorough=True).diagnostics
    return [(d.code, d.message) for d in found]


@pytest.mark.parametrize(
    "shell",
    [
        "{argv: [bin/good]}",
        "{argv: [./bin/good, bin/none]}",
        "{argv: [run]}",
        "{argv: [/opt/none/run]}",
        "{argv: [./run], cwd: site}",
        "{argv: [run], cwd: /opt/none}",
        "{script: run, interpreter: [bin/good]}",
        "{script: bin/none}",
    ],
)
def test_what_is_there_or_not_known_is_silent(folder: Path, shell: str) -> None:
    assert said(folder, shell) == []


@pytest.mark.parametrize(
    ("shell", "code", "message"),
    [
        ("{argv: [bin/none]}", "program-not-there", "there is no program 'bin/none'"),
        ("{argv: [bin/plain]}", "program-not-there", "'bin/plain' cannot be run"),
        ("{argv: [bin/good], cwd: site}", "program-not-there", "there is no program 'bin/good'"),
        ("{argv: [run], cwd: none}", "folder-not-there", "there is no folder 'none'"),
        ("{script: x, interpreter: [./sh]}", "program-not-there", "there is no program './sh'"),
    ],
)
def test_what_is_not_there_is_a_warning(folder: Path, shell: str, code: str, message: str) -> None:
    assert said(folder, shell) == [(code, message)]


@pytest.mark.parametrize("folder_of_it", ["bin/", "./bin/"])
def test_a_misspelt_program_is_found_beside(folder: Path, folder_of_it: str) -> None:
    text = HEAD + f"      shell: {{argv: [{folder_of_it}god]}}\n"
    found = load(text, path=str(folder / "rules.yaml"), env={}, thorough=True).diagnostics
    assert [one.hint for one in found] == [f"did you mean '{folder_of_it}good'?"]
