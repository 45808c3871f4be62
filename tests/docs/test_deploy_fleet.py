"""The files of deploy/fleet/ name what there is, fit each other, and begin three routers."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import yaml

from router.config import load, render_text
from router.rules.ruleset import Ruleset
from tests.acceptance.process import ROOT, RouterProcess, free_ports
from tests.docs.test_deploy import DOCKERFILE, parsed
from tests.postgres.server import Server

FOLDER = ROOT / "deploy" / "fleet"
RULES = (FOLDER / "rules" / "rules.yaml").read_text("utf-8")
COMPOSE_TEXT = (FOLDER / "compose.yaml").read_text("utf-8")
COMPOSE: Any = yaml.safe_load(COMPOSE_TEXT)
KUBERNETES_TEXT = (FOLDER / "kubernetes.yaml").read_text("utf-8")
MANIFESTS: dict[tuple[str, str], Any] = {
    (one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(KUBERNETES_TEXT)
}
DEPLOYMENT = MANIFESTS["Deployment", "router"]["spec"]
POD = DEPLOYMENT["template"]["spec"]
[CONTAINER] = POD["containers"]
DATABASE = MANIFESTS["StatefulSet", "postgres"]["spec"]["template"]["spec"]["containers"][0]
SECRET = MANIFESTS["Secret", "router"]["stringData"]
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "compose": COMPOSE["services"]["router"]["environment"],
    "kubernetes": {
        one["name"]: SECRET[ref["secretKeyRef"]["key"]] if ref else one["value"]
        for one in CONTAINER["env"]
        if "fieldRef" not in (ref := one.get("valueFrom", {}))
    },
}


def ruleset() -> Ruleset:
    result = load(RULES, path="/rules/rules.yaml", env={})
    assert render_text(result.diagnostics) == ""
    return cast("Ruleset", result.ruleset)


def test_both_go_by_the_same_rules_but_a_pod_says_where_it_is() -> None:
    inlined = MANIFESTS["ConfigMap", "router-rules"]["data"]["rules.yaml"]
    result = load(inlined, path="/rules/rules.yaml", env={"POD_IP": "10.1.2.3"})
    assert render_text(result.diagnostics) == ""
    place = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert place in CONTAINER["env"]
    same, count = re.subn(r"\n +advertise: {env: POD_IP}.*", "", inlined)
    assert (same, count) == (RULES[RULES.index("version: 1") :], 1)
    assert ruleset().server.listen == re.findall(r"ROUTER_LISTEN=(\S+)", DOCKERFILE)[0]


@pytest.mark.parametrize("where", list(ENVIRONMENTS))
def test_every_variable_is_read_and_none_is_missing(where: str) -> None:
    given = ENVIRONMENTS[where]
    secrets = {one.env for one in ruleset().secrets.values()}
    assert set(given) == secrets | {"ROUTER_STORE", "ROUTER_ADMIN"}
    assert given["ROUTER_ADMIN"] == ruleset().server.admin


def test_the_database_s_password_and_name_are_the_routers() -> None:
    database = COMPOSE["services"]["db"]["environment"]
    user, name, password = (database[f"POSTGRES_{word}"] for word in ("USER", "DB", "PASSWORD"))
    assert ENVIRONMENTS["compose"]["ROUTER_STORE"] == f"postgresql://{user}:{password}@db/{name}"
    kept = {one["name"]: one.get("value") for one in DATABASE["env"]}
    user, name, password = kept["POSTGRES_USER"], kept["POSTGRES_DB"], SECRET["POSTGRES_PASSWORD"]
    assert SECRET["ROUTER_STORE"] == f"postgresql://{user}:{password}@postgres/{name}"
    assert ("Service", "postgres") in MANIFESTS


def test_three_routers_run_as_nobody_on_a_disk_that_they_cannot_write() -> None:
    router = COMPOSE["services"]["router"]
    [uid] = re.findall(r"--uid (\d+)", DOCKERFILE)
    assert (router["deploy"]["replicas"], DEPLOYMENT["replicas"]) == (3, 3)
    assert router["ports"] == ["8000-8002:8000"]
    assert router["tmpfs"] == ["/tmp", f"/data:uid={uid},gid={uid},mode=0700"]  # noqa: S108
    assert (router["read_only"], router["cap_drop"]) == (True, ["ALL"])
    assert POD["securityContext"]["runAsUser"] == int(uid)
    assert POD["securityContext"]["runAsNonRoot"] is True
    allowed = CONTAINER["securityContext"]
    assert allowed["readOnlyRootFilesystem"] is True
    assert allowed["allowPrivilegeEscalation"] is False
    assert allowed["capabilities"] == {"drop": ["ALL"]}
    written = {one["mountPath"] for one in CONTAINER["volumeMounts"] if not one.get("readOnly")}
    assert written == {ruleset().server.state_dir, "/tmp"}  # noqa: S108 - a path in the container


def test_the_image_has_the_driver() -> None:
    build = COMPOSE["services"]["router"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).resolve() == (
        ROOT / "deploy" / "Dockerfile"
    )
    assert re.findall(r"^ARG (\w+)=", DOCKERFILE, re.MULTILINE) == list(build["args"])
    assert '"/src$EXTRAS"' in DOCKERFILE
    assert f"--build-arg 'EXTRAS={build['args']['EXTRAS']}'" in KUBERNETES_TEXT
    extras = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f"\n{build['args']['EXTRAS'].strip('[]')} = [" in extras


def test_both_wait_longer_than_the_router_drains() -> None:
    drains = ruleset().server.grace_s + 5
    assert int(COMPOSE["services"]["router"]["stop_grace_period"].removesuffix("s")) > drains
    word, seconds = CONTAINER["lifecycle"]["preStop"]["exec"]["command"]
    assert word == "sleep"
    assert POD["terminationGracePeriodSeconds"] > drains + int(seconds)


def test_the_probes_ask_the_admin_listener() -> None:
    asked = {
        kind: CONTAINER[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")
    }
    assert {kind: one["path"] for kind, one in asked.items()} == {
        "startup": "/livez",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    ports = {one["name"]: one["containerPort"] for one in CONTAINER["ports"]}
    assert {one["port"] for one in asked.values()} == {"admin"}
    server = ruleset().server
    assert server.admin.endswith(f":{ports['admin']}")
    assert server.listen.endswith(f":{ports['hooks']}")


def test_what_selects_the_routers_selects_them() -> None:
    labels = DEPLOYMENT["template"]["metadata"]["labels"]
    [apart] = POD["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert apart["podAffinityTerm"]["labelSelector"] == {"matchLabels": labels}
    assert DEPLOYMENT["selector"] == {"matchLabels": labels}
    assert MANIFESTS["Service", "router"]["spec"]["selector"] == labels
    budget = MANIFESTS["PodDisruptionBudget", "router"]["spec"]
    assert budget == {"maxUnavailable": 1, "selector": {"matchLabels": labels}}


@pytest.mark.parametrize("text", [COMPOSE_TEXT, KUBERNETES_TEXT])
def test_the_commands_of_the_comments_are_ours(text: str) -> None:
    lines = re.findall(r"^# .* router (router store .*)$|-- (router .*)$", text, re.MULTILINE)
    [words] = ["".join(found).split() for found in lines]
    with parsed(words[1:]):
        pass


@pytest.fixture
def address(postgres_server: Server, new_database: str) -> str:
    return postgres_server.address(new_database, tcp=True)


@pytest.mark.long
def test_three_routers_begin_and_their_probes_answer(address: str, tmp_path: Path) -> None:
    """By the files' own rules and variables; addresses and folders are this machine's."""
    given = ENVIRONMENTS["compose"]  # the other has the same: see above
    routers = [_router(tmp_path / str(number), given, address) for number in range(3)]
    try:
        for one in routers:
            one.launch()
        for one in routers:
            one.until(one.ready, "ready")
            asked = httpx.get(f"{one.admin_url}/readyz", headers={"host": "10.1.2.3:8001"})
            assert (asked.status_code, asked.text) == (200, "ready\n")
        told = subprocess.run(
            [sys.executable, "-m", "router", "store", "info"],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **routers[0].environ},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.count("\nnode ") == 3
        assert [one.stop() for one in routers] == [0, 0, 0]
    finally:
        for one in routers:
            if one.running:
                one.kill()


def _router(folder: Path, given: Mapping[str, str], address: str) -> RouterProcess:
    listen, admin = free_ports(2)
    data = folder / "data"
    data.mkdir(parents=True)
    rules = folder / "rules.yaml"
    rules.write_text(RULES.replace("state_dir: /data", f"state_dir: {data}"), "utf-8")
    environ = {
        **given,
        "ROUTER_RULES": str(rules),
        "ROUTER_STORE": address,
        "ROUTER_LISTEN": f"0.0.0.0:{listen}",
        "ROUTER_ADMIN": f"0.0.0.0:{admin}",
    }
    return RouterProcess(rules, listen, admin, environ)
