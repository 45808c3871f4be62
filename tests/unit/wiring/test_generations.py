"""Generations kept in the store are read as they were, whatever the files say today."""

from pathlib import Path

from router.expressions import decode_json, encode_json
from router.store.values import Generation
from router.wiring.live import read_generation
from router.wiring.rules import read_rules

MAIN = """
version: 1
include: [parts/*.yaml]
vars: {branch: {env: BRANCH, default: main}}
endpoints: {open: {id: 97aa0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: github, verify: none}}
"""
PART = """
version: 1
rules: [{id: pushed, from: open, match: branch == var.branch, actions: {log: hi}}]
"""


def test_an_old_generation_has_its_included_files_and_variables(tmp_path: Path) -> None:
    """Though its folder is empty now."""
    path, part = tmp_path / "rules.yaml", tmp_path / "parts" / "pushed.yaml"
    part.parent.mkdir()
    path.write_text(MAIN)
    part.write_text(PART)
    old = read_rules(path, environ={"BRANCH": "old"}).ruleset
    assert old is not None
    kept = Generation(old.generation, old.text, decode_json(encode_json(old.context)), 0)
    part.unlink()
    found = read_generation(kept, path=path, environ={"BRANCH": "new"}, dev=False)
    assert found.ruleset is not None
    assert found.ruleset.generation == old.generation
    assert [rule.id for rule in found.ruleset.rules] == ["pushed"]
    assert found.ruleset.variables == {"branch": "old"}


def test_a_generation_without_includes_reads_no_file(tmp_path: Path) -> None:
    """Not even one that a pattern of it would fit today."""
    path = tmp_path / "rules.yaml"
    path.write_text(MAIN)
    old = read_rules(path, environ={}).ruleset
    assert old is not None
    assert "files" not in old.context
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "pushed.yaml").write_text(PART)
    kept = Generation(old.generation, old.text, old.context, 0)
    found = read_generation(kept, path=path, environ={}, dev=False).ruleset
    assert found is not None
    assert found.rules == ()
