"""Generations kept in the store are read as they were, whatever the files say today."""

from pathlib import Path

from router.expressions import decode_json, encode_json
from router.store.values import Generation
from router.wiring.live import GenerationSource, read_generation
from router.wiring.rules import NO_OVERRIDES, read_rules

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


def test_that_a_file_is_edited_whose_rules_are_not_followed_is_said_once(tmp_path: Path) -> None:
    """Each time; and not of what is published."""
    path, part = tmp_path / "rules.yaml", tmp_path / "parts" / "pushed.yaml"
    part.parent.mkdir()
    path.write_text(MAIN)
    part.write_text(PART)
    source = GenerationSource(path, environ={}, dev=False, overrides=NO_OVERRIDES)
    ruleset = source.build()[0].ruleset
    kept = Generation(ruleset.generation, ruleset.text, ruleset.context, 0)
    source.follow(kept, ruleset.server)
    usual = source.build()[1]

    def said() -> list[str]:
        live, warnings = source.build()
        assert live.ruleset.generation == ruleset.generation
        return [words for words in warnings if words not in usual]

    source.follow(kept, ruleset.server)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "desk.py").touch()
    assert said() == [], "its plugins are followed"
    for file in (part, path):
        file.write_text("nonsense: {")
        source.follow(kept, ruleset.server)
        (words,) = said()
        assert str(path) in words
        assert "router rules publish" in words
        assert said() == []
