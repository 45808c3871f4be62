"""Every YAML block of the rules reference loads without a word, and every key is described."""

import re
from pathlib import Path

import pytest
from router.config.unsupported import REFUSED

from router.config import load, render_text
from router.yaml_source import Entry
from tests.docs.entries import entries, keys
from tests.docs.pages import blocks

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "rules.md").read_text("utf-8")
ELSEWHERE = {"provider_schema": "providers.md", "trial_schema": "testing.md"}
"""Modules whose keys a page of their own describes."""
BLOCKS = blocks("rules.md", "yaml")
QUIET = {"unused-secret", "unused-target", "includes-nothing"}


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_loads(block: str) -> None:
    result = load(block, path="rules.yaml", env={})
    said = [d for d in result.diagnostics if d.code not in QUIET]
    assert render_text(said) == ""
    assert result.ruleset is not None


@pytest.mark.parametrize("kind", entries(), ids=lambda kind: kind.__name__)
def test_every_key_is_described(kind: type[Entry]) -> None:
    module = kind.__module__.rpartition(".")[2]
    page = (DOCS / ELSEWHERE.get(module, "rules.md")).read_text("utf-8")
    for key in {*keys(kind)} - {kind.shorthand}:
        assert re.search(rf"\b{key}\b", page), key


def test_what_is_refused_by_name_is_listed() -> None:
    ending = PAGE[PAGE.index("## Not in this version") :]
    for _, key, *_ in REFUSED:
        assert key in ending


def test_no_key_is_both_built_and_refused() -> None:
    built = {(kind.__name__, key) for kind in entries() for key in keys(kind)}
    assert not built & {key for key in REFUSED if len(key) == 2}
