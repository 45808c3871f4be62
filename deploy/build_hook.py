"""
Called by hatchling: a wheel, an sdist or an editable install knows its version and its commit.

An sdist brings the file along, for it has no commit to look at; a copy without history has none.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "router/_version.py"


class VersionHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes `router/_version.py`, which git does not know."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Before anything is packed."""
        build_data["artifacts"].append(PLACE)
        root = Path(self.root)
        if not (root / "PKG-INFO").exists():
            text = f'version = "{self.metadata.version}"\ncommit = "{commit(root)}"\n'
            (root / PLACE).write_text(text, "utf-8")


def commit(root: Path) -> str:
    """Of the clone, in full; "" where there is none, or no git to ask."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return ""
    # Also where another user owns the clone: as root, in a container.
    git = ["git", "-c", f"safe.directory={root}", "-C", str(root), "rev-parse", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - a command of ours
