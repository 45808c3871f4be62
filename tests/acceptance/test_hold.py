"""`router serve --hold` stores and answers deliveries, and runs no job until `router resume`."""

import json

import httpx
import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig, RouterProcess, called
from tests.acceptance.senders import shop

RULES = """
rules:
  - {id: runs, from: shop, actions: {shell: {script: 'echo "$WEBHOOK_JOB" >> ran', stdin: none}}}
  - {id: logs, from: shop, actions: {log: "{{ event }}"}}
"""
SWEEP_S = 5.0
"""A router looks for due jobs that often."""
HELD = "held: no job runs; `router resume` starts them"


def states(rig: Rig) -> dict[str, dict[str, int]]:
    """How many jobs of each rule are in each state."""
    found = json.loads(called(rig, "rules", "--json")[1])
    return {row["rule"]: row["jobs"] for row in found}


def ran(rig: Rig) -> int:
    """Commands that ran."""
    file = rig.folder / "ran"
    return len(file.read_text("utf-8").splitlines()) if file.exists() else 0


def swept(router: RouterProcess) -> None:
    """Wait for longer than a router leaves due jobs of its store alone."""
    assert router.ended(within=SWEEP_S + 1) is None, router.output()


@pytest.mark.long
def test_no_job_runs_until_it_is_resumed(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(RULES)
    with rig.router() as router:
        assert send(rig, shop(), 0).json()["status"] == "accepted"
        router.until(lambda: ran(rig) == 1, "the first command")
        assert router.stop() == 0, router.output()
    with rig.router("--hold") as router:
        for number in (0, 1, 2):
            status = "accepted" if number else "duplicate"
            assert send(rig, shop(), number).json()["status"] == status
        assert httpx.get(f"{router.admin_url}/readyz").text == f"ready\n{HELD}\n"
        assert HELD in called(rig, "status")[1]
        assert called(rig, "status", "--check")[0] == 1
        swept(router)
        held = {"available": 2, "succeeded": 1}
        assert (states(rig), ran(rig)) == ({"runs": held, "logs": held}, 1)
        code, out, err = called(rig, "cancel", "--rule", "logs", "--yes")
        assert (code, out, err) == (0, "2 jobs cancelled\n", "")
        assert called(rig, "replay", "--rule", "runs", "--recorded", "--yes")[0] == 0
        assert called(rig, "resume")[:2] == (0, "resumed: jobs run\n")
        router.until(lambda: states(rig)["runs"] == {"succeeded": 6}, "all to succeed")
        assert states(rig)["logs"] == {"cancelled": 2, "succeeded": 1}
        assert called(rig, "resume")[:2] == (0, "not held: jobs run anyway\n")
        assert httpx.get(f"{router.admin_url}/readyz").text == "ready\n"
        lines = json.loads(called(rig, "audit", "--json")[1])
        assert [line["verb"] for line in lines] == ["resume", "replay", "cancel"]
        assert lines[0]["command"] == "router resume"
        assert send(rig, shop(), 3).status_code == 200
        router.until(lambda: ran(rig) == 7, "a job that is handed over")


@pytest.mark.long
def test_the_next_start_says_whether_it_holds(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(RULES)
    for number in (0, 1):
        with rig.router("--hold") as router:
            assert send(rig, shop(), number).status_code == 200
            assert HELD in httpx.get(f"{router.admin_url}/readyz").text
            assert router.stop() == 0, router.output()
    assert ran(rig) == 0
    with rig.router() as router:
        router.until(lambda: ran(rig) == 2, "both commands")
        assert HELD not in called(rig, "status")[1]


@pytest.mark.long
def test_nothing_is_changed_where_no_router_runs(make_rig: MakeRig) -> None:
    rig = make_rig(RULES)
    for words in (("cancel", "--rule", "runs", "--yes"), ("resume",), ("token", "revoke", "ci")):
        code, out, err = called(rig, *words)
        assert (code, out) == (1, "")
        assert f"no server runs at http://127.0.0.1:{rig.admin}: start `router serve`" in err
        assert "or `router serve --hold` to change something before any job runs" in err
    assert not rig.store.exists()
