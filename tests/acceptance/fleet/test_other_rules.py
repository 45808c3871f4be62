"""Two routers with different files on one database: any of them runs any job."""

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import Send
from tests.acceptance.process import Rig, called
from tests.acceptance.senders import ENDPOINTS, code, environ

pytestmark = pytest.mark.long

SCRIPT = """\
shell:
          script: 'echo NAME >> "$F/ran"; until [ -e "$F/go" ]; do sleep 0.05; done'
          env: {F: FOLDER}
"""
THEIRS = f"""\
rules:
  - id: theirs
    from: code
    actions:
      - id: again
        {SCRIPT.replace("NAME", "again")}
      - id: once
        {SCRIPT.replace("NAME", "once")}
        on_interrupt: dead
"""


def states(rig: Rig) -> dict[str, int]:
    """How many jobs of the only delivery are in each."""
    exit_, listed, said = called(rig, "deliveries", "--json")
    assert (exit_, said) == (0, ""), said
    (one,) = json.loads(listed)
    found: dict[str, int] = one["jobs"]
    return found


def test_another_router_runs_a_job_of_a_rule_that_it_never_had(
    tmp_path: Path, send: Send, address: str
) -> None:
    """And knows of one that must not run twice that it must not."""
    known = {**environ(), "ROUTER_STORE": address}
    theirs = ENDPOINTS + THEIRS.replace("FOLDER", str(tmp_path))
    one = Rig(tmp_path / "one", theirs, known)
    other = Rig(tmp_path / "other", ENDPOINTS + "rules: []\n", known)
    ran = tmp_path / "ran"
    with one.router() as first, other.router() as second:
        assert send(one, code(), 1).json()["status"] == "accepted"
        first.until(lambda: ran.exists() and len(ran.read_text().split("\n")) == 3, "both run")
        first.kill()
        second.until(lambda: ran.read_text().count("again") == 2, "its job runs again")
        (tmp_path / "go").touch()
        ended = {"succeeded": 1, "dead": 1}
        second.until(lambda: states(other) == ended, "the end")
        assert sorted(ran.read_text().split()) == ["again", "again", "once"]
        assert second.stop() == 0, second.output()
