"""Reloading the real process; `python -m tests.faults.reloads` is the long form of the first."""

import json
import random
import signal
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig
from tests.acceptance.senders import ENDPOINTS, code
from tests.faults.reloads import Races

pytestmark = pytest.mark.long

RACES = 50

TESTED = """
rules:
  - {id: main, from: code, events: push, match: "payload.ref == '%s'", actions: {log: hi}}
tests:
  - name: a push to main is seen
    send: {endpoint: code, event: push, set: {ref: refs/heads/main}}
    expect: {status: 200, matched: [main]}
"""


async def test_no_request_fails_and_no_rule_is_wrong_while_files_are_swapped(
    tmp_path: Path,
) -> None:
    tally = await Races(tmp_path, random.Random(3)).run(RACES)
    assert tally.problems == []
    assert tally.acked > RACES  # else nothing was shown
    assert tally.reloads
    assert tally.failed


def status(rig: Rig) -> dict[str, object]:
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    answer = httpx.get(
        f"http://127.0.0.1:{rig.admin}/api/status",
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
    )
    found: dict[str, object] = answer.json()["reload"]
    return found


def test_a_file_whose_own_tests_fail_never_takes_effect(make_rig: MakeRig, send: Send) -> None:
    """Though nothing else is wrong with it; the failed test is named wherever one may look."""
    rig = make_rig("")
    rig.server = "  reload: {require_tests: true, watch: false}\n"
    rig.write(ENDPOINTS + TESTED % "refs/heads/main")
    with rig.router() as router:
        rig.write(ENDPOINTS + TESTED % "refs/heads/master")
        router.signal(signal.SIGHUP)
        router.until(lambda: status(rig)["ok"] is False, "the failed reload")
        reported = str(status(rig)["error"])
        assert "1 of 1 tests" in reported
        assert "a push to main is seen" in reported
        metrics = httpx.get(f"{router.admin_url}/metrics", trust_env=False).text
        assert "router_reload_ok 0.0" in metrics
        assert 'router_reloads_total{outcome="failed"} 1.0' in metrics
        assert send(rig, code(), 1).status_code == 200
        assert router.ready(), "deliveries are taken by the old rules"
        rig.write(ENDPOINTS + (TESTED % "refs/heads/main").replace("hi", "hello"))
        router.signal(signal.SIGHUP)
        router.until(lambda: status(rig)["ok"] is True, "the good reload")
        assert status(rig)["changes"] == {
            "added": [],
            "removed": [],
            "changed": ["main"],
            "settings": [],
            "needs_restart": [],
        }
        assert router.stop() == 0, router.output()
    lines = [json.loads(line) for line in router.log.read_text("utf-8").splitlines()]
    assert [line["changed"] for line in lines if line["event"] == "reloaded"] == [["main"]]
