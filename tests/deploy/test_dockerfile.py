"""The Dockerfile names what there is; its steps make a router that runs, without any engine."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.acceptance.process import PATIENCE_S, ROOT
from tests.deploy.clean_root import CleanRoot, missing
from tests.deploy.commands import parsed, variables_of
from tests.deploy.dockerfile import stages
from tests.deploy.rules import GRACE_S

TEXT = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
BUILD, FINAL = stages(TEXT)
IGNORED = [
    line.removeprefix("**/")
    for line in (ROOT / "deploy" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
SECRET = "a-secret-of-the-shop-0123456789"
HERE, THERE = "198.18.7.1", "198.18.7.2"
"""Of a range for tests of networks: the two ends of the container's cable."""


def test_the_container_begins_with_a_command_of_ours() -> None:
    program, *words = FINAL.command
    assert program == "router"
    with parsed(words):
        pass


def test_its_variables_are_options_of_serve() -> None:
    assert {name for name in FINAL.environ if name != "PATH"} == variables_of("serve")
    addresses = [FINAL.environ[f"ROUTER_{name}"] for name in ("LISTEN", "ADMIN")]
    assert [int(one.rpartition(":")[2]) for one in addresses] == FINAL.ports


def test_its_health_is_a_page_of_the_admin_listener() -> None:
    """At the port that its own variable gives to the listener."""
    program, option, code = FINAL.health
    assert (program, option) == ("python", "-c")
    assert f"http://127.0.0.1:{FINAL.ports[1]}/readyz" in code


def test_it_runs_as_nobody_and_is_waited_for() -> None:
    [uid] = re.findall(r"--uid (\d+)", TEXT)
    [gid] = re.findall(r"--gid (\d+)", TEXT)
    assert ("USER", f"{uid}:{gid}") in FINAL.steps
    [wait] = re.findall(r"--stop-timeout (\d+)", TEXT)
    assert int(wait) > GRACE_S + 5


def test_no_file_of_the_repository_is_kept_from_it() -> None:
    """Else git says in there that the clone was changed, and so would the version."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    kept = shutil.ignore_patterns(*IGNORED)
    parts = {part for name in tracked for part in Path(name).parts}
    assert kept("", sorted(parts)) == set()
    assert kept("", [".env", "router.db", "router.db-wal", ".venv"]) != set()


class Container(NamedTuple):
    """A running one: its process, and `exec` for a command in it."""

    process: "subprocess.Popen[bytes]"
    log: Path
    exec: Callable[..., tuple[int, str]]

    def until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not true():
            said = self.log.read_text("utf-8", "replace")
            assert self.process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.05)


def packages_are_found() -> dict[str, str]:
    """What this machine's pip was told, as variables: its files are not in the root folder."""
    listed = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    told = (line.partition("=") for line in lines if not line.startswith(":env:"))
    return {
        f"PIP_{name.partition('.')[2].upper().replace('-', '_')}": value.strip("'")
        for name, _, value in told
    } | {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}


def made(folder: Path) -> CleanRoot:
    """The last stage, after every step of all."""
    context = folder / "context"
    ignored = shutil.ignore_patterns(*IGNORED)
    shutil.copytree(ROOT, context, symlinks=True, ignore=ignored)
    environ, before = packages_are_found(), dict[str, CleanRoot]()
    for number, stage in enumerate((BUILD, FINAL)):
        root = CleanRoot(folder / f"root-{number}", stage, context)
        root.build(before, environ)
        before[stage.name] = root
    return root


def connected(process: "subprocess.Popen[bytes]") -> None:
    """Give the container an address, as an engine does; it ends with the container."""
    inside = ["nsenter", "--target", str(process.pid), "--net"]
    name = f"rt{process.pid}"
    for command in (
        [
            "ip",
            "link",
            "add",
            name,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            f"{process.pid}",
        ],
        ["ip", "address", "add", f"{HERE}/30", "dev", name],
        ["ip", "link", "set", name, "up"],
        [*inside, "ip", "address", "add", f"{THERE}/30", "dev", "eth0"],
        [*inside, "ip", "link", "set", "eth0", "up"],
    ):
        subprocess.run(command, check=True)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    """`docker run` of what the Dockerfile makes, with the rules of compose.yaml."""
    if (why := missing()) is not None:
        pytest.skip(why)
    root = made(tmp_path)
    data, log = tmp_path / "volume", tmp_path / "log"
    shutil.copytree(root.folder / "data", data)
    for place in (data, *data.rglob("*")):
        os.chown(place, *map(int, root.user.split(":")))
    given = {"SHOP_WEBHOOK_SECRET": SECRET}
    process = root.begin(data, ROOT / "deploy" / "rules", given, log)
    try:
        in_it = lambda *words, **more: root.exec(process, words, {**given, **more})  # noqa: E731
        running = Container(process, log, in_it)
        running.until(lambda: '"event":"ready"' in log.read_text("utf-8"))
        connected(process)
        yield running
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def logged_in(token: str, host: str) -> tuple[int, str]:
    """What a browser sees that opens the dashboard by this name and logs in."""
    headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    with httpx.Client(base_url=f"http://{THERE}:8001", headers=headers, trust_env=False) as browser:
        answer = browser.post("/login", data={"token": token})
        cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        page = browser.get("/", headers={"cookie": cookie}) if cookie else answer
        return page.status_code, page.text


@pytest.mark.long
def test_its_steps_make_a_router_that_runs(container: Container) -> None:
    """
    Nothing is writable but its volume and /tmp; it is healthy, takes deliveries at a published
    port, shows its dashboard to who has a token, and ends with 0.
    """
    assert container.exec(*FINAL.health)[0] == 0
    assert subprocess.run(
        ["unshare", "--net", *FINAL.health], capture_output=True, check=False
    ).returncode
    assert container.exec("id", "-u") == (0, "10001\n")
    for place in ("/x", "/opt/router/x", "/rules/x", "/usr/local/x"):
        assert container.exec("touch", place)[0] == 1, place
    assert container.exec("sh", "-c", "touch /data/x /tmp/x")[0] == 0
    code, said = container.exec("router", "--version")
    assert (code, "0.0" in said.split()[-1:]) == (0, False), said
    code, said = container.exec("router", "send", "shop", "orders/paid")
    assert (code, "accepted" in said) == (0, True), said
    hook = f"http://{THERE}:8000/wh_8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54"
    assert httpx.post(hook, json={}, trust_env=False).status_code == 401
    code, token = container.exec("router", "token", "new", "ann", "--role", "operator")
    assert code == 0
    [token] = re.findall(r"^rtr_\S+$", token, re.MULTILINE)
    for host in ("localhost:8001", f"{HERE}:8001"):
        status, page = logged_in(token, host)
        assert (status, "ann" in page) == (200, True)
    assert logged_in("rtr_wrong", "localhost:8001")[0] == 401
    assert logged_in(token, "elsewhere.example:8001")[0] == 400
    container.process.terminate()
    assert container.process.wait(PATIENCE_S) == 0
    lines = [json.loads(line) for line in container.log.read_text("utf-8").splitlines()]
    assert [line for line in lines if line["level"] not in ("info", "warning")] == []
