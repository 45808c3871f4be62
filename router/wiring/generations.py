"""Generations kept in the store, read again."""

from collections.abc import Mapping
from pathlib import Path

from router.config import KeptFiles, Loaded, load
from router.store.values import Generation


def read_generation(
    kept: Generation, *, path: Path, environ: Mapping[str, str], dev: bool
) -> Loaded:
    """
    A generation's text with the included files and variables of its day; `path` is where the
    rules file lies today.
    """
    then = {k: v for k, v in kept.context.get("env", {}).items() if isinstance(v, str)}
    files = KeptFiles(kept.context.get("files", {}))
    return load(kept.text, path=str(path), env={**environ, **then}, dev=dev, files=files)
