"""docs/ci.md: its files are YAML, and what they run passes a right file and stops a wrong one."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as Xml
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from router.cli.command_table import COMMANDS
from tests.chance import thinned
from tests.docs.pages import ROOT, blocks

PRE_COMMIT, GITHUB, GITLAB = (yaml.safe_load(text) for text in blocks("ci.md", "yaml"))
PUBLISHED = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
HOOKS = [*PRE_COMMIT["repos"][0]["hooks"], *PUBLISHED]
STEPS = GITHUB["jobs"]["rules"]["steps"]
RULES = """\
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints: {shop: {id: 0123456789abcdef, provider: shopify, secrets: shop}}
rules: [{id: paid, from: shop, events: orders/paid, actions: {log: hi}}]
tests:
  - name: a paid order is logged
    send: {endpoint: shop, event: orders/paid}
    expect: {matched: [paid]}
"""


def _commands() -> Iterator[str]:
    yield from (hook["entry"] for hook in HOOKS)
    yield from (step["run"] for step in STEPS if "run" in step)
    yield from GITLAB["rules"]["script"]


LINES = [line for line in dict.fromkeys(_commands()) if line.startswith("router ")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One with a rules file, and with `router` as somebody has it who installed it."""
    (tmp_path / "rules.yaml").write_text(RULES, "utf-8")
    program = tmp_path / "bin" / "router"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m router "$@"\n', "utf-8")
    program.chmod(0o755)
    return tmp_path


def typed(line: str, folder: Path) -> int:
    environ = {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
    }
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=environ, capture_output=True, check=False
    ).returncode


@pytest.mark.long
@pytest.mark.parametrize("line", thinned(LINES, one_of=4))
def test_each_line_passes_a_right_file_and_stops_a_wrong_one(line: str, folder: Path) -> None:
    assert typed(line, folder) == 0
    (folder / "rules.yaml").write_text(RULES.replace("from: shop", "from: shpo"), "utf-8")
    assert typed(line, folder) == 1


@pytest.mark.long
def test_the_files_that_services_read_are_written_also_when_a_check_fails(folder: Path) -> None:
    (folder / "rules.yaml").write_text(RULES.replace("from: shop", "from: shpo"), "utf-8")
    for line in LINES:
        typed(line, folder)
    upload = next(step for step in STEPS if "upload-sarif" in step.get("uses", ""))
    log = json.loads((folder / upload["with"]["sarif_file"]).read_text("utf-8"))
    assert "unknown-endpoint" in [r["ruleId"] for r in log["runs"][0]["results"]]


@pytest.mark.long
def test_the_test_report_is_one(folder: Path) -> None:
    for line in LINES:
        typed(line, folder)
    report = folder / GITLAB["rules"]["artifacts"]["reports"]["junit"]
    assert Xml.parse(report).getroot().get("tests") == "1"  # noqa: S314 - our own


def test_the_scripts_of_a_rules_file_are_given_to_shellcheck(folder: Path) -> None:
    program = folder / "bin" / "shellcheck"
    program.write_text('#!/bin/sh\necho "$@" >>seen\ncat >>seen\n! grep -q bad seen\n', "utf-8")
    program.chmod(0o755)
    scripts = "[{shell: {script: echo one}}, {shell: {script: echo two}}]"
    (folder / "rules.yaml").write_text(RULES.replace("{log: hi}", scripts), "utf-8")
    [command] = blocks("ci.md", "sh")
    assert typed(command, folder) == 0
    seen = (folder / "seen").read_text("utf-8")
    assert (seen.count("--shell=sh"), "echo one" in seen, "echo two" in seen) == (2, True, True)
    (folder / "rules.yaml").write_text(
        RULES.replace("{log: hi}", "{shell: {script: bad}}"), "utf-8"
    )
    assert typed(command, folder) == 1


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: f"{hook['language']}-{hook['id']}")
def test_a_hook_has_what_pre_commit_asks_for_and_gets_no_single_files(hook: dict[str, Any]) -> None:
    assert {"id", "name", "entry", "language", "files"} <= set(hook)
    assert hook["entry"].split()[1] in COMMANDS
    assert hook["pass_filenames"] is False
    assert hook["language"] in ("system", "python")
