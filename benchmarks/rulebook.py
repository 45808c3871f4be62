"""
ansible-rulebook, with its own webhook source: the same signature check, the same condition.

Its rule prints a line (`debug`), which is its cheapest action that leaves a trace: each line in
its output is a rule that fired.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import peers
from tests.acceptance.process import free_ports
from tests.acceptance.senders import CODE_KEY

NAME = "ansible-rulebook"
PATH = "/push"
SAID = "push to "


def rules(port: int) -> str:
    """A rulebook; JSON is YAML too."""
    source = {
        "host": "127.0.0.1",
        "port": port,
        "hmac_secret": CODE_KEY,
        "hmac_algo": "sha256",
        "hmac_header": "X-Hub-Signature-256",
        "hmac_format": "hex",
    }
    rule = {
        "name": "main",
        "condition": 'event.payload.ref == "refs/heads/main"',
        "action": {"debug": {"msg": SAID + "{{ event.payload.repository.full_name }}"}},
    }
    sources = [{"eda.builtin.webhook": source}]
    return json.dumps([{"name": "p", "hosts": "all", "sources": sources, "rules": [rule]}])


@contextmanager
def serve(folder: Path) -> Iterator[int]:
    (port,) = free_ports(1)
    folder.mkdir()
    book = folder / "rulebook.yml"
    book.write_text(rules(port), "utf-8")
    found = Path(peers.program(NAME) or NAME)
    # It asks for ansible-galaxy by name, which is installed beside it.
    environ = {"PATH": f"{found.parent}:/usr/bin:/bin", "HOME": str(folder), "NO_COLOR": "1"}
    command = [str(found), "--rulebook", str(book)]
    with peers.running(command, port, log=output(folder), environ=environ):
        yield port


def output(folder: Path) -> Path:
    return folder / "output.log"


def fired(folder: Path, port: int) -> int:
    """How often the rule has fired."""
    del port
    return output(folder).read_text("utf-8", "replace").count(f"\n{SAID}")
