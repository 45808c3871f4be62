"""What docs/install.md shows, done line by line in a home of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import lines
from tests.release.environments import Environment, run

BUILD = "python -m build"
"""It has been done, with the locked tools."""


def faults(tools: Environment, clone: Path, home: Path, version: str) -> Iterator[str]:
    """A line of the page that fails, or shows another version."""
    home.mkdir()
    environ = {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(Path.home() / ".config"),  # where pip and uv learn of an index
        "PATH": f"{tools.bin}:{os.environ['PATH']}",
    }
    for line in lines("install.md"):
        said = "" if line == BUILD else run(["bash", "-ceu", line], clone, environ=environ)
        if "--version" in line and version not in said:
            yield f"`{line}` says {said!r}"
