"""What kustomize renders of deploy/kubernetes/: it fits together, and Kubernetes' own schemas."""

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.process import ROOT
from tests.deploy.commands import parsed, variables_of
from tests.deploy.dockerfile import stages
from tests.deploy.rules import GRACE_S, Rules, read

FOLDER = ROOT / "deploy" / "kubernetes"
IMAGE = stages((ROOT / "deploy" / "Dockerfile").read_text("utf-8"))[-1]
OVERLAYS = ("one", "fleet")
each = pytest.mark.parametrize("overlay", OVERLAYS)
Manifests = dict[tuple[str, str], Any]


def rendered(folder: Path) -> list[Any]:
    """
    The objects that would be applied.

    Raises:
        subprocess.CalledProcessError: kustomize refuses the folder.
    """
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl is not on this machine")
    shown = subprocess.run([program, "kustomize", folder], capture_output=True, check=True).stdout
    return list(yaml.safe_load_all(shown))


def by_name(objects: list[Any]) -> Manifests:
    found = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    assert len(found) == len(objects)
    return found


@cache
def manifests(overlay: str) -> Manifests:
    return by_name(rendered(FOLDER / overlay))


@pytest.fixture(params=OVERLAYS)
def extended(request: pytest.FixtureRequest, tmp_path: Path) -> Manifests:
    """An overlay with the components that its comment names."""
    shutil.copytree(FOLDER, tmp_path / "k")
    file = tmp_path / "k" / request.param / "kustomization.yaml"
    text, count = re.subn("^# (?=components: )", "", file.read_text("utf-8"), flags=re.MULTILINE)
    assert count == 1
    file.write_text(text, "utf-8")
    return by_name(rendered(file.parent))


def pod_of(overlay: str) -> Any:
    return manifests(overlay)["Deployment", "router"]["spec"]["template"]["spec"]


def container(overlay: str) -> Any:
    [only] = pod_of(overlay)["containers"]
    return only


def secret_of(overlay: str) -> tuple[str, dict[str, str]]:
    """Its name, which follows from what is in it, and that."""
    [(name, data)] = [
        (k[1], one["data"]) for k, one in manifests(overlay).items() if k[0] == "Secret"
    ]
    return name, {key: base64.b64decode(value).decode() for key, value in data.items()}


def rules(overlay: str) -> Rules:
    return read(manifests(overlay)["ConfigMap", "router-rules"]["data"]["rules.yaml"])


# -- the schemas ----------------------------------------------------------------------------------


def faults(objects: list[Any]) -> list[str]:
    """What Kubernetes would refuse; a field that it does not know is such a thing."""
    schemas = pytest.importorskip(
        "kubernetes_validate", reason="its schemas are not installed: pip install '.[manifests]'"
    )
    found = []
    for one in objects:
        try:
            schemas.validate(one, schemas.latest_version(), strict=True)
        except schemas.ValidationError as error:
            found.append(f"{one['kind']}: {error}")
    return found


@each
def test_kubernetes_knows_each_field(overlay: str) -> None:
    assert faults(list(manifests(overlay).values())) == []


@each
@pytest.mark.parametrize("field", ["readinessProbe", "replicas", "readOnlyRootFilesystem"])
def test_a_misspelt_field_is_found(overlay: str, field: str) -> None:
    text = yaml.safe_dump(manifests(overlay)["Deployment", "router"])
    assert f"{field}:" in text
    assert len(faults([yaml.safe_load(text.replace(f"{field}:", f"{field}s:"))])) == 1


# -- what belongs together ------------------------------------------------------------------------


@each
def test_every_variable_is_read_and_none_is_missing(overlay: str) -> None:
    name, given = secret_of(overlay)
    assert container(overlay)["envFrom"] == [{"secretRef": {"name": name}}]
    secrets = rules(overlay).secrets
    assert secrets <= set(given)
    assert set(given) <= secrets | variables_of("serve") | {"POSTGRES_PASSWORD"}


@each
def test_no_router_begins_with_a_secret_that_everybody_can_read_here(overlay: str) -> None:
    given = secret_of(overlay)[1]
    assert {given[one] for one in rules(overlay).secrets} == {""}


def test_the_rules_are_those_of_the_compose_files() -> None:
    one, fleet = (
        manifests(overlay)["ConfigMap", "router-rules"]["data"]["rules.yaml"]
        for overlay in OVERLAYS
    )
    assert one == (ROOT / "deploy" / "rules" / "rules.yaml").read_text("utf-8")
    shared = (ROOT / "deploy" / "fleet" / "rules" / "rules.yaml").read_text("utf-8")
    assert fleet == shared[shared.index("version: 1") :]


@each
def test_it_runs_as_nobody_on_a_disk_that_it_cannot_write(overlay: str) -> None:
    pod, allowed = pod_of(overlay)["securityContext"], container(overlay)["securityContext"]
    user = dict(IMAGE.steps)["USER"]
    assert f"{pod['runAsUser']}:{pod['runAsGroup']}" == user
    assert (pod["runAsNonRoot"], pod["fsGroup"]) == (True, pod["runAsGroup"])
    assert allowed == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    mounts = {one["name"]: one["mountPath"] for one in container(overlay)["volumeMounts"]}
    volumes = {one["name"]: one for one in pod_of(overlay)["volumes"]}
    assert mounts == {"rules": "/rules", "data": "/data", "tmp": "/tmp"}  # noqa: S108 - in there
    assert mounts.keys() == volumes.keys()
    kept = {"one": "persistentVolumeClaim", "fleet": "emptyDir"}[overlay]
    assert kept in volumes["data"]
    assert rules(overlay).state_dir in (None, mounts["data"])


@each
def test_it_waits_longer_than_the_router_drains(overlay: str) -> None:
    word, seconds = container(overlay)["lifecycle"]["preStop"]["exec"]["command"]
    assert word == "sleep"
    drains = rules(overlay).grace_s + 5
    assert pod_of(overlay)["terminationGracePeriodSeconds"] > drains + int(seconds)


@each
def test_the_probes_ask_the_admin_listener(overlay: str) -> None:
    asked = {
        kind: container(overlay)[f"{kind}Probe"]["httpGet"]
        for kind in ("startup", "liveness", "readiness")
    }
    assert asked == {
        "startup": {"path": "/livez", "port": "admin"},
        "liveness": {"path": "/livez", "port": "admin"},
        "readiness": {"path": "/readyz", "port": "admin"},
    }
    ports = {one["name"]: one["containerPort"] for one in container(overlay)["ports"]}
    assert [ports["hooks"], ports["admin"]] == IMAGE.ports


@each
def test_what_selects_pods_selects_them(overlay: str) -> None:
    of = manifests(overlay)
    labels = of["Deployment", "router"]["spec"]["template"]["metadata"]["labels"]
    assert of["Deployment", "router"]["spec"]["selector"] == {"matchLabels": labels}
    for name in ("router", "router-admin"):
        assert of["Service", name]["spec"]["selector"] == labels
    assert of["NetworkPolicy", "router"]["spec"]["podSelector"] == {"matchLabels": labels}
    named = {one["name"] for one in container(overlay)["ports"]}
    targets = {
        of["Service", name]["spec"]["ports"][0]["targetPort"] for name in ("router", "router-admin")
    }
    assert targets == named


@each
def test_everybody_may_deliver_and_only_routers_call_each_other(overlay: str) -> None:
    hooks, admin = manifests(overlay)["NetworkPolicy", "router"]["spec"]["ingress"]
    assert hooks == {"ports": [{"port": "hooks"}]}
    assert admin == {
        "from": [{"podSelector": {"matchLabels": {"app": "router"}}}],
        "ports": [{"port": "admin"}],
    }


def test_one_router_never_meets_another_on_its_ledger() -> None:
    of = manifests("one")
    spec = of["Deployment", "router"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    [data] = [one for one in pod_of("one")["volumes"] if one["name"] == "data"]
    assert ("PersistentVolumeClaim", data["persistentVolumeClaim"]["claimName"]) in of


def test_three_of_a_fleet_are_apart_and_never_all_away() -> None:
    of = manifests("fleet")
    spec = of["Deployment", "router"]["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (3, "RollingUpdate")
    labels = {"matchLabels": spec["template"]["metadata"]["labels"]}
    [apart] = pod_of("fleet")["affinity"]["podAntiAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    assert apart["podAffinityTerm"]["labelSelector"] == labels
    budget = of["PodDisruptionBudget", "router"]["spec"]
    assert budget == {"maxUnavailable": 1, "selector": labels}


def test_the_database_is_the_routers_alone() -> None:
    of = manifests("fleet")
    name, given = secret_of("fleet")
    [database] = of["StatefulSet", "postgres"]["spec"]["template"]["spec"]["containers"]
    plain = {one["name"]: one.get("value") for one in database["env"]}
    asked = [one["valueFrom"]["secretKeyRef"] for one in database["env"] if "valueFrom" in one]
    assert asked == [{"name": name, "key": "POSTGRES_PASSWORD"}]
    user, password = plain["POSTGRES_USER"], given["POSTGRES_PASSWORD"]
    assert (
        given["ROUTER_STORE"] == f"postgresql://{user}:{password}@postgres/{plain['POSTGRES_DB']}"
    )
    assert ("Service", "postgres") in of
    [entry] = of["NetworkPolicy", "postgres"]["spec"]["ingress"]
    assert entry["from"] == [{"podSelector": {"matchLabels": {"app": "router"}}}]


MONITOR_FIELDS = {
    "ServiceMonitor.spec": {"jobLabel", "selector", "endpoints"},
    "endpoints": {"port", "path", "interval", "authorization"},
}
"""Of the operator's own definition what is used here: no schema of it is to be had."""


def test_prometheus_finds_the_admin_listener_and_may_ask_it(extended: Manifests) -> None:
    monitor = extended["ServiceMonitor", "router"]["spec"]
    [endpoint] = monitor["endpoints"]
    assert set(monitor) == MONITOR_FIELDS["ServiceMonitor.spec"]
    assert set(endpoint) == MONITOR_FIELDS["endpoints"]
    wanted = monitor["selector"]["matchLabels"].items()
    chosen = [one for (kind, _), one in extended.items() if kind == "Service"]
    [service] = [one for one in chosen if wanted <= one["metadata"]["labels"].items()]
    assert [port["name"] for port in service["spec"]["ports"]] == [endpoint["port"]]
    assert service["metadata"]["labels"][monitor["jobLabel"]] == "router"  # the job of the alerts
    assert endpoint["path"] == "/metrics"
    [entry] = extended["NetworkPolicy", "router-metrics"]["spec"]["ingress"]
    assert entry["ports"] == [{"port": endpoint["port"]}]
    told = (FOLDER / "monitoring" / "kustomization.yaml").read_text("utf-8")
    credentials = endpoint["authorization"]["credentials"]
    assert f"secret generic {credentials['name']} --from-literal={credentials['key']}=" in told
    core = [one for (kind, _), one in extended.items() if kind != "ServiceMonitor"]
    assert faults(core) == []


def test_the_ingress_leads_to_the_public_listener_and_is_the_base_url(extended: Manifests) -> None:
    spec = extended["Ingress", "router"]["spec"]
    [rule], [tls] = spec["rules"], spec["tls"]
    [path] = rule["http"]["paths"]
    [backend] = path["backend"].values()
    service = extended["Service", backend["name"]]["spec"]
    assert [port["name"] for port in service["ports"]] == [backend["port"]["name"]] == ["hooks"]
    assert tls["hosts"] == [rule["host"]]
    [pod] = extended["Deployment", "router"]["spec"]["template"]["spec"]["containers"]
    given = {one["name"]: one["value"] for one in pod["env"]}
    assert given["ROUTER_BASE_URL"] == f"https://{rule['host']}"


def commands() -> Iterator[list[str]]:
    for file in sorted(FOLDER.rglob("kustomization.yaml")):
        text = file.read_text("utf-8")
        yield from (
            words.split() for words in re.findall(r"^# .*-- router (.*)$", text, re.MULTILINE)
        )
        for named in re.findall(r"--kustomize (\S+)", text):
            assert ROOT / named == file.parent


def test_the_commands_of_the_comments_are_ours() -> None:
    found = list(commands())
    assert len(found) == 3
    for words in found:
        with parsed(words):
            pass


def test_the_grace_of_the_rules_is_what_the_unit_and_the_image_reckon_with() -> None:
    assert {rules(overlay).grace_s for overlay in OVERLAYS} == {GRACE_S}
