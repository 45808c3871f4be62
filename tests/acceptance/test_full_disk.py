"""A disk without room, when the router starts on it: it says so, and how to mend it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.process import ROOT, Rig, free_ports
from tests.acceptance.senders import ENDPOINTS, environ
from tests.faults.room import namespace

pytestmark = pytest.mark.long

FILLED = 'cp -r "$1/." "$2"; cat /dev/zero >"$2/ballast" 2>/dev/null; shift 2; exec "$@"'


def make(folder: Path) -> None:
    """Leave the store of a router that has run and stopped in a folder that is not there yet."""
    with Rig(folder, f"{ENDPOINTS}rules: []\n", environ()).router() as router:
        assert router.stop() == 0


@pytest.mark.parametrize("command", ["serve", "deliveries"])
@pytest.mark.parametrize("state", ["new", "sound"])
def test_a_full_disk_is_called_so(tmp_path: Path, state: str, command: str) -> None:
    """Whether a store is to be made there, or a sound one lies there."""
    small, before = tmp_path / "small", tmp_path / "before"
    small.mkdir()
    mounted = namespace(small)
    if mounted is None:
        pytest.skip("nothing can be mounted here: no disk runs full")
    if state == "sound":
        make(before)
    else:
        before.mkdir()
    listen, admin = free_ports(2)
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        f"version: 1\nserver: {{listen: '127.0.0.1:{listen}', admin: '127.0.0.1:{admin}', "
        f"store: 'sqlite:small/router.db'}}\n{ENDPOINTS}"
        "rules: [{id: all, from: all, actions: {log: x}}]\n"
    )
    router = [sys.executable, "-m", "router", command, "-f", str(rules)]
    if command == "serve":
        router[4:] = [str(rules)]
    ran = subprocess.run(
        [*mounted, "sh", "-c", FILLED, "sh", str(before), str(small), *router],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environ()},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = ran.stdout + ran.stderr
    if (state, command) == ("new", "deliveries"):
        assert (ran.returncode, "there is no store" in said) == (0, True), said
        return
    assert ran.returncode == 1, said
    assert f"the disk of {small}/router.db" in said
    assert "is full" in said
    assert "free some space" in said
    assert "unexpected" not in said
