"""A rules file of deploy/ as data, and what the router takes where none says otherwise."""

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.acceptance.process import ROOT

GRACE_S = 20
"""What running actions get at a stop. The router needs up to 5 s more."""
PORT = "8000"
"""Of the public listener."""
SOCKETS = ("listen", "admin")
"""What sockets of systemd are called."""


class Rules(NamedTuple):
    """`secrets` are the variables that hold them; `grace_s` in seconds."""

    secrets: frozenset[str]
    grace_s: int
    state_dir: str | None


@cache
def read(text: str) -> Rules:
    """A rules file of which `router check` has nothing to say."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.yaml"
        path.write_text(text, "utf-8")
        command = [sys.executable, "-m", "router", "check", "--json", str(path)]
        environ = {"PATH": os.environ["PATH"], "POD_IP": "10.1.2.3"}
        ran = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
        )
    assert (ran.returncode, ran.stdout.strip()) == (0, "[]"), ran.stdout + ran.stderr
    rules: dict[str, Any] = yaml.safe_load(text)
    server = rules.get("server", {})
    return Rules(
        frozenset(one["env"] for one in rules["secrets"].values()),
        int(server.get("grace", f"{GRACE_S}s").removesuffix("s")),
        server.get("state_dir"),
    )
