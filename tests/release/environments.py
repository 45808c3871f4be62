"""Environments of Python, each for one purpose and made afresh."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TOOLS = ("build>=1.3", "cyclonedx-bom>=7", "pipx>=1.7", "uv>=0.9")
"""What makes a release; nothing of them is in it."""


def run(
    command: Sequence[str | Path],
    folder: Path,
    *,
    text: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> str:
    """
    What a command prints.

    Raises:
        subprocess.CalledProcessError: it failed; what it said is on our stderr.
    """
    done = subprocess.run(
        command, cwd=folder, input=text, env=environ, text=True, capture_output=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
    done.check_returncode()
    return done.stdout


class Environment:
    """The one in this folder, else a new one; pip installs from outside: it holds nothing else."""

    def __init__(self, folder: Path) -> None:
        if not folder.exists():
            run([sys.executable, "-m", "venv", "--without-pip", folder], folder.parent)
        self.bin = folder / "bin"
        self.python = self.bin / "python"

    def install(self, *what: str | Path) -> None:
        """As pip's command line says it."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq"]
        run([*pip, "--python", self.python, "install", *what], self.bin)
