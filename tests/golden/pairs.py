"""
The two files that every code of a diagnostic has: `codes/CODE/bad.yaml` and `good.yaml`.

What they refer to (`plugins/`, scripts, included files) lies beside them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from router.config import decode_text, load
from router.errors import ConfigError, Diagnostic

CODES_FOLDER = Path(__file__).parent / "codes"
SHOWN_AS = "rules.yaml"
NOW = 1_790_000_000_000


def said(code: str, name: str) -> tuple[Diagnostic, ...]:
    """What `router check` says about a code's `bad` or `good` file, standing in its folder."""
    folder = CODES_FOLDER / code
    with _standing_in(folder):
        try:
            text = decode_text((folder / f"{name}.yaml").read_bytes(), path=SHOWN_AS)
        except ConfigError as error:
            return error.diagnostics
        found = load(text, path=SHOWN_AS, env={}, thorough=True, tests=True, now=NOW)
        return found.diagnostics


@contextmanager
def _standing_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
