"""What only one router knows is asked of it at any other: refusals, and what a job writes."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import Send
from tests.acceptance.process import ROOT, Rig, called
from tests.acceptance.senders import ENDPOINTS, SHOP_ID, code, environ

pytestmark = pytest.mark.long

RULES = (
    ENDPOINTS.replace("secrets:\n", "secrets:\n  fleet: {env: FLEET_TOKEN}\n")
    + "rules: [{id: all, from: all, actions: [{shell: {script: "
    + "'echo half; while [ ! -e GO ]; do sleep 0.05; done; echo whole', timeout: 2m}}]}]\n"
)
KNOWN = {**environ(), "FLEET_TOKEN": "made-up-token-of-the-whole-fleet"}


class Named(Rig):
    """A router with a name; others may call it, unless it is `hidden`."""

    def head(self) -> str:
        where = f"127.0.0.1:{self.admin}"
        called = "" if self.folder.name == "hidden" else f", advertise: '{where}'"
        return (
            "version: 1\nserver:\n"
            f"  listen: 127.0.0.1:{self.listen}\n"
            f"  admin: {{listen: '{where}', tokens: {{fleet: {{secret: fleet}}}}{called}}}\n"
            f"  store: {{url: {{env: ADDRESS}}, node: {self.folder.name}}}\n"
            "  refusals: {bodies: true}\n"
        )


def rigs(folder: Path, address: str, *names: str) -> list[Rig]:
    rules = RULES.replace("GO", str(folder / "go"))
    return [Named(folder / name, rules, {**KNOWN, "ADDRESS": address}) for name in names]


def refused(rig: Rig) -> tuple[list[tuple[str, str]], str]:
    """Node and reason of the refusals that this router tells of, and what it notes beside."""
    exit_, out, err = called(rig, "deliveries", "--refused", "--json")
    assert exit_ == 0, err
    return [(one["node"], one["reason"]) for one in json.loads(out)], err


def page(rig: Rig, path: str) -> str:
    """Of the dashboard, as the browser of who logs in with the token gets it."""
    url = f"http://127.0.0.1:{rig.admin}"
    form = {"token": KNOWN["FLEET_TOKEN"], "next": path}
    with httpx.Client(base_url=url, trust_env=False, follow_redirects=True) as browser:
        answer = browser.post("/login", data=form, headers={"origin": url})
        assert answer.status_code == 200
        return answer.text


def forge(rig: Rig) -> None:
    url = f"http://127.0.0.1:{rig.listen}/wh_{SHOP_ID}"
    assert httpx.post(url, content=b"{}", trust_env=False).status_code == 401


def written(rig: Rig, job: str) -> dict[str, str]:
    """What the API of this router tells of a job's output."""
    token = {"authorization": f"Bearer {KNOWN['FLEET_TOKEN']}"}
    url = f"http://127.0.0.1:{rig.admin}/api/output?job={job}"
    return dict(httpx.get(url, headers=token, trust_env=False).json())


def job_of(rig: Rig, delivery: str) -> str:
    exit_, out, err = called(rig, "show", delivery, "--json")
    assert exit_ == 0, err
    return str(json.loads(out)["jobs"][0]["id"])


def test_refusals_are_told_by_any_router(tmp_path: Path, address: str) -> None:
    one, other, hidden = rigs(tmp_path, address, "one", "other", "hidden")
    with one.router(), other.router(), hidden.router():
        forge(one)
        forge(hidden)
        told, noted = refused(other)
        assert told == [("one", "missing_signature")]
        assert "hidden could not be asked" in noted
        assert "server.admin.advertise" in noted
        assert "hidden could not be asked" in page(other, "/refused")
        kept = called(other, "doctor", "--refused", "last")
        assert "missing_signature" in kept[1], kept


def test_what_a_job_writes_is_told_by_any_router(tmp_path: Path, send: Send, address: str) -> None:
    both = rigs(tmp_path, address, "one", "other")
    with both[0].router() as router, both[1].router():
        job = job_of(both[0], send(both[0], code(), 1).json()["delivery"])
        router.until(lambda: "half" in written(both[1], job).get("stdout", ""), "its output")
        asking, holder = sorted(both, key=lambda rig: "node" not in written(rig, job))
        assert "node" not in written(holder, job)
        assert written(asking, job)["node"] == holder.folder.name
        assert f"Output so far on {holder.folder.name}" in page(asking, f"/jobs/{job}")
        following = subprocess.Popen(
            [sys.executable, "-m", "router", "show", job, "--follow", "-f", str(asking.path)],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **asking.environ},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert following.stdout is not None
        assert following.stdout.readline() == "half\n"
        (tmp_path / "go").touch()
        assert "whole" in following.communicate()[0]
        assert following.returncode == 0
