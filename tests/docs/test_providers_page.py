"""Every YAML block of the pages about providers loads, and every key of a definition is told."""

import re
from pathlib import Path

import msgspec
import pytest

from router.config import load, provider_schema, render_text
from router.yaml_source import Entry

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "providers.md").read_text("utf-8")
PAGES = [PAGE, *(p.read_text("utf-8") for p in sorted((DOCS / "providers").glob("*.md")))]
BLOCKS = [
    block
    for page in PAGES
    for block in re.findall(r"^```yaml\n(version.*?)^```", page, re.MULTILINE | re.DOTALL)
]


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_loads(block: str) -> None:
    result = load(block, path="rules.yaml", env={})
    assert render_text(result.diagnostics) == ""
    assert result.ruleset is not None


def entries() -> list[type[Entry]]:
    kinds = (value for value in vars(provider_schema).values() if isinstance(value, type))
    return [kind for kind in kinds if issubclass(kind, Entry) and kind is not Entry]


@pytest.mark.parametrize("kind", entries(), ids=lambda kind: kind.__name__)
def test_every_key_is_reported(kind: type[Entry]) -> None:
    hidden = {"node", "broken", kind.shorthand}
    for field in msgspec.structs.fields(kind):
        if field.name not in hidden:
            assert re.search(rf"\b{field.encode_name}\b", PAGE), field.encode_name
