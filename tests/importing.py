"""What `router import webhook` makes of a hooks file, through its command line."""

import contextlib
import io
import json
import os
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

from router.cli.main import run


class Imported(NamedTuple):
    """The rules and the values beside them; what is listed, as data and as it is `shown`."""

    text: str
    secrets: dict[str, str]
    found: int
    taken: int
    listed: list[Any]
    shown: str


def imported(text: str, *flags: str, name: str = "hooks.json") -> Imported:
    """What comes of a file with this text."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(name).write_text(text, "utf-8")
        made = json.loads(_ran("import", "webhook", name, "--json", *flags)[0])
        _, shown = _ran("import", "webhook", name, "-o", "rules.yaml", *flags)
        values = Path("rules.env").read_text("utf-8") if made["variables"] else ""
    secrets = dict(line.split("=", 1) for line in shlex.split(values))
    listed = [SimpleNamespace(**one) for one in made["listed"]]
    return Imported(made["rules"], secrets, made["hooks"], made["taken"], listed, shown)


def _ran(*args: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        run(args, os.environ)
    return out.getvalue(), err.getvalue()
