"""A router with two endpoints: deliveries to `harm` start whatever means harm, `code` is calm."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import pushes
from tests import ledger
from tests.acceptance.process import ROOT, Rig
from tests.hostile import plugins
from tests.hostile.commands import COMMANDS

HARM = "harm0123456789abcdef"
TOO_LARGE = frozenset({"leaks_memory"})
"""Takes 1 GiB of the machine, as a plugin may; it runs alone, with less, in `tests/faults`."""
WORST = tuple(name for name in plugins.WORST if name not in TOO_LARGE)
TIMEOUT = "1s"
STARTED = """
    SELECT count(*) FROM jobs WHERE rule != 'main' AND n IN (SELECT job FROM attempts)
"""


@contextlib.contextmanager
def targets() -> Iterator[dict[str, str]]:
    """The URL of every hostile target; they are served by a process of their own."""
    command = [sys.executable, "-m", "tests.hostile"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())
        server.terminate()


def actions(urls: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What means harm, by kind and name, as an action of the rules file."""
    every: dict[str, dict[str, Any]] = {}
    for name, url in urls.items():
        every[f"http-{name}"] = {"http": {"url": url}}
    for name, command in COMMANDS.items():
        files = {"files": {"GIVEN": "body"}} if command.files else {}
        every[f"shell-{name}"] = {"shell": {"argv": list(command.argv), **files}}
    for name in WORST:
        every[f"python-{name}"] = {"python": {"call": f"worst:{name}"}}
    for action in every.values():
        (settings,) = action.values()
        settings["timeout"] = TIMEOUT
    return every


def a_rig(folder: Path, every: Mapping[str, dict[str, Any]], server: str = "") -> Rig:
    """The rules and the plugins; a rule for each action, and one of the neighbour's."""
    (folder / "plugins").mkdir(parents=True)
    (folder / "plugins" / "worst.py").write_text(plugins.SOURCE, "utf-8")
    harm = f"  harm: {{id: {HARM}, provider: none, verify: none}}\n"
    text = pushes.rules(1).replace("rules:\n", f"{harm}rules:\n")
    for name, action in every.items():
        rule = {"from": "harm", "match": f"payload.do == '{name}'", "retry": "none"}
        text += f"  - {json.dumps({'id': name.replace('_', '-'), **rule, 'actions': action})}\n"
    return Rig(folder, text, pushes.ENVIRON, "  grace: 1s\n" + server)


def started(rig: Rig) -> int:
    """How many deliveries have done their harm."""
    with closing(ledger.connect(rig.store)) as db:
        (count,) = db.execute(STARTED).fetchone()
    return int(count)


def order(rig: Rig, name: str) -> bytes:
    """The request that starts one of them."""
    body = json.dumps({"do": name}).encode()
    return pushes.http(rig.listen, f"/wh_{HARM}", [("content-type", "application/json")], body)
