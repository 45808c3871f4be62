"""Generations kept in the store, read again."""

from collections.abc import Mapping
from pathlib import Path

from router.config import Loaded, load
from router.store.protocol import Generation


def read_generation(
    kept: Generation, *, path: Path, environ: Mapping[str, str], dev: bool
) -> Loaded:
    """A generation's text with the variables of its day; `path` is where the file lies today."""
    then = {k: v for k, v in kept.context.get("env", {}).items() if isinstance(v, str)}
    return load(kept.text, path=str(path), env={**environ, **then}, dev=dev)
