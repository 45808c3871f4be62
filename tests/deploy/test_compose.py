"""The compose files name what there is, and Debian's docker-compose takes them."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.process import ROOT
from tests.deploy.commands import parsed, variables_of
from tests.deploy.dockerfile import stages
from tests.deploy.rules import Rules, read

FILES = {
    "one": ROOT / "deploy" / "compose.yaml",
    "fleet": ROOT / "deploy" / "fleet" / "compose.yaml",
}
COMPOSE: Mapping[str, Any] = {
    name: yaml.safe_load(file.read_text("utf-8")) for name, file in FILES.items()
}
IMAGE = stages((ROOT / "deploy" / "Dockerfile").read_text("utf-8"))[-1]
each = pytest.mark.parametrize("which", list(FILES))


def rules(which: str) -> Rules:
    """The rules beside it, which have no fault."""
    return read((FILES[which].parent / "rules" / "rules.yaml").read_text("utf-8"))


def router(which: str) -> dict[str, Any]:
    return dict(COMPOSE[which]["services"]["router"])


@pytest.mark.long
@each
def test_every_variable_is_read_and_none_is_missing(which: str) -> None:
    given = set(router(which)["environment"])
    assert rules(which).secrets <= given
    assert given <= rules(which).secrets | variables_of("serve")
    asked = re.findall(r"\$\{(\w+):\?in \.env\}", FILES[which].read_text("utf-8"))
    [told] = re.findall(r"^#   (?:cat|echo) .*$", FILES[which].read_text("utf-8"), re.MULTILINE)
    assert {name for name in asked if name not in told} == set()


@each
def test_it_builds_the_image_of_this_repository(which: str) -> None:
    build = router(which)["build"]
    place = (FILES[which].parent / build["context"]).resolve()
    assert (place, place / build["dockerfile"]) == (ROOT, ROOT / "deploy" / "Dockerfile")


@each
def test_it_runs_as_nobody_on_a_disk_that_it_cannot_write(which: str) -> None:
    one = router(which)
    assert (one["read_only"], one["cap_drop"]) == (True, ["ALL"])
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert one["volumes"][0] == "./rules:/rules:ro"
    assert int(one["stop_grace_period"].removesuffix("s")) > rules(which).grace_s + 5
    uid = dict(IMAGE.steps)["USER"].partition(":")[0]
    data = [*one["volumes"][1:], *one["tmpfs"]]
    written = {"one": "data:/data", "fleet": f"/data:uid={uid},gid={uid},mode=0700"}
    assert sorted(data) == sorted([written[which], "/tmp"])  # noqa: S108 - a path in the container


@each
def test_deliveries_are_for_everybody_and_the_dashboard_for_this_machine(which: str) -> None:
    """By the ports that the image listens on."""
    hooks, admin = router(which)["ports"]
    assert [int(one.rpartition(":")[2]) for one in (hooks, admin)] == IMAGE.ports
    assert not hooks.startswith("127.")
    assert admin.startswith("127.0.0.1:")


@each
def test_the_commands_of_its_comments_are_ours(which: str) -> None:
    text = FILES[which].read_text("utf-8")
    [words] = re.findall(r"^# .* exec router (router .*)$", text, re.MULTILINE)
    with parsed(words.split()[1:]):
        pass
    for named in re.findall(r"-f (\S+\.yaml)", text):
        assert ROOT / named == FILES[which]


def test_the_database_s_password_and_name_are_the_routers() -> None:
    database = COMPOSE["fleet"]["services"]["db"]["environment"]
    user, name, password = (database[f"POSTGRES_{word}"] for word in ("USER", "DB", "PASSWORD"))
    store = router("fleet")["environment"]["ROUTER_STORE"]
    assert store == f"postgresql://{user}:{password}@db/{name}"


def test_three_of_a_fleet_have_as_many_ports() -> None:
    ports = [one.rpartition(":")[0].rpartition(":")[2] for one in router("fleet")["ports"]]
    spans = [tuple(map(int, one.split("-"))) for one in ports]
    assert [last - first + 1 for first, last in spans] == [3, 3]
    assert router("fleet")["deploy"]["replicas"] == 3


@pytest.mark.long
@each
def test_docker_compose_takes_it(which: str, tmp_path: Path) -> None:
    """As Debian has it, which needs no engine; and it does not take it without a secret."""
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not on this machine")
    text = FILES[which].read_text("utf-8")
    given = {name: f"the-{name}" for name in re.findall(r"\$\{(\w+)", text)}

    def config(environ: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [program, "--file", str(FILES[which]), "config"],
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    ran = config(given)
    assert (ran.returncode, ran.stderr) == (0, "")
    shown = json.dumps(yaml.safe_load(ran.stdout)["services"]["router"]["environment"])
    assert "the-SHOP_WEBHOOK_SECRET" in shown
    refused = config({name: v for name, v in given.items() if name != "SHOP_WEBHOOK_SECRET"})
    assert refused.returncode != 0
    assert "in .env" in refused.stderr
