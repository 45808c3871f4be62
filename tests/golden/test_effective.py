"""`check --show` writes a file that means what the file means."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from router.config import load, render_text
from router.config.effective import EffectiveFile
from router.config.loading import Loaded

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = [
    ROOT / "rules.example.yaml",
    *sorted((HERE / "ok").glob("*.yaml")),
    *[pytest.param(p, marks=pytest.mark.long) for p in sorted(HERE.glob("codes/*/good.yaml"))],
]


def loaded(text: str, beside: Path) -> Loaded:
    return load(text, path=str(beside), env={})


def meant(found: Loaded) -> str:
    """What a file comes to, places in its text left out."""
    assert found.ruleset is not None, render_text(found.diagnostics)
    plain = replace(found.ruleset, generation="", text="", context={})
    return re.sub(r"\b(start|end|line|column)=\d+", "", repr(plain))


@pytest.mark.parametrize("path", FILES, ids=lambda one: str(one.relative_to(ROOT)))
def test_the_effective_file_is_read_as_the_file(path: Path) -> None:
    found = loaded(path.read_text("utf-8"), path)
    assert found.file is not None
    shown = EffectiveFile(found.file, lambda _key, _name: False).text()
    assert meant(loaded(shown, path)) == meant(found)
