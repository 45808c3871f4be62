"""`router show JOB --follow`: a command's output, while it runs, in another process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import PATIENCE_S, ROOT, Rig
from tests.acceptance.test_operate import called

pytestmark = pytest.mark.long

RULES = """
rules:
  - id: slow
    from: shop
    actions:
      shell:
        script: |
          echo "one $KEY"
          while [ ! -e "$GO" ]; do sleep 0.05; done
          echo two
        env: {{GO: "{go}", KEY: "{{{{ secret.shop }}}}"}}
"""


def test_output_is_seen_before_the_command_ends(make_rig: MakeRig, tmp_path: Path) -> None:
    go = tmp_path / "go"
    rig = make_rig(RULES.format(go=go))
    with rig.router() as router:
        assert called(rig, "send", "shop", "orders/paid")[0] == 0
        router.until(lambda: bool(_jobs(rig)), "the job")
        (job,) = _jobs(rig)
        command = [sys.executable, "-u", "-m", "router", "show", job, "--follow"]
        environ = {**rig.environ, "ROUTER_RULES": str(rig.path), "PATH": "/usr/bin:/bin"}
        with subprocess.Popen(
            command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True
        ) as following:
            assert following.stdout is not None
            first = following.stdout.readline()
            assert first.startswith("one *****"), first
            assert following.poll() is None
            go.touch()
            rest = following.stdout.read()
            assert following.wait(PATIENCE_S) == 0
        assert "succeeded" in rest
        assert "two" in rest


def test_a_job_that_has_ended_is_simply_shown(make_rig: MakeRig) -> None:
    rig = make_rig("rules: [{id: quick, from: shop, actions: {shell: {argv: [echo, hi]}}}]\n")
    with rig.router() as router:
        assert called(rig, "send", "shop", "orders/paid")[0] == 0
        router.until(lambda: bool(_jobs(rig)), "the job")
        (job,) = _jobs(rig)
        router.until(
            lambda: "succeeded" in called(rig, "show", job, "--follow")[1], "the end of the job"
        )


def _jobs(rig: Rig) -> list[str]:
    deliveries = json.loads(called(rig, "deliveries", "--json")[1])
    if not deliveries:
        return []
    shown = json.loads(called(rig, "show", deliveries[0]["id"], "--json")[1])
    return [job["id"] for job in shown["jobs"]]
