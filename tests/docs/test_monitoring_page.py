"""docs/monitoring.md and deploy/monitoring name metrics, labels and commands that there are."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from router.cli.main import cli
from router.metrics import Metrics
from router.wiring.management import fetches_of
from tests.acceptance.process import ROOT, Rig
from tests.acceptance.senders import ENDPOINTS, code, environ
from tests.acceptance.sink import Sink
from tests.certificates import write_certificate
from tests.docs.pages import block

PAGE = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
PLACE = ROOT / "deploy" / "monitoring"
ALERTS: list[dict[str, Any]] = yaml.safe_load((PLACE / "alerts.yaml").read_text("utf-8"))["groups"][
    0
]["rules"]
DASHBOARD = json.loads((PLACE / "dashboard.json").read_text("utf-8"))
SCRAPED = {"job", "instance", "le"}
"""Labels that Prometheus gives, and that of a histogram's buckets."""
OF_HISTOGRAMS = re.compile(r"_(bucket|sum|count)$")

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (Debian: prometheus)"
)


def documented() -> dict[str, set[str]]:
    """The labels of each metric of the table."""
    table = PAGE.partition("## Metrics")[2]
    rows = re.findall(r"^\| (`.*?) \|(.*?)\|", table, re.MULTILINE)
    return {
        name: set(labels.strip().split(", ")) - {""}
        for names, labels in rows
        for name in re.findall(r"`(\w+)`", names)
    }


def panels() -> list[tuple[str, str, str]]:
    """Title, expression and legend of everything that is drawn; variables have a value."""
    return [
        (panel["title"], _filled(target["expr"]), target.get("legendFormat", ""))
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
    ]


def _filled(expression: str) -> str:
    filled = expression.replace("$__rate_interval", "5m")
    return filled.replace("$job", ".*").replace("$instance", ".*")


def misnamed(expression: str, legend: str = "") -> list[str]:
    """Metrics that are not in the table, and labels that none of its metrics has."""
    known, wrong, labels = documented(), [], set(SCRAPED)
    for name, matchers in re.findall(r"\b((?:router|process)_\w+)(?:\{(.*?)\})?", expression):
        metric = OF_HISTOGRAMS.sub("", name)
        if metric not in known:
            wrong.append(name)
            continue
        labels |= known[metric]
        wrong += [
            f"{name}{{{label}}}"
            for label in re.findall(r"(\w+)(?:=~|!~|!=|=)", matchers)
            if label not in known[metric] | SCRAPED
        ]
    grouped = re.findall(r"\b(?:by|without) \((.*?)\)", expression)
    named = {one.strip() for group in grouped for one in group.split(",")}
    named |= set(re.findall(r"\{\{(\w+)\}\}", legend))
    return wrong + sorted(named - labels)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_names_metrics_and_labels_that_there_are(alert: dict[str, Any]) -> None:
    assert misnamed(alert["expr"]) == []


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel[0])
def test_a_panel_names_metrics_and_labels_that_there_are(panel: tuple[str, str, str]) -> None:
    _, expression, legend = panel
    assert misnamed(expression, legend) == []


def test_a_wrong_name_is_found() -> None:
    assert misnamed('sum by (rule) (router_lags_seconds{a="b"})') == ["router_lags_seconds", "rule"]
    assert misnamed('router_lag_seconds{state="dead"}', "{{ }}") == ["router_lag_seconds{state}"]
    assert misnamed("router_lag_seconds", "{{state}}") == ["state"]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_says_what_to_do_and_stands_on_the_page(alert: dict[str, Any]) -> None:
    """With a command of ours that there is, but for a log that nobody reads."""
    said = alert["annotations"]
    named = re.findall(r"`router (\w+(?: \w+)?)", said["description"])
    assert named or alert["alert"] in ("RouterLogLost",)
    for words in named:
        assert _command(words.split()) is not None, words
    assert f"| `{alert['alert']}` |" in PAGE
    assert said["summary"]


def _command(words: list[str]) -> click.Command | None:
    command: click.Command | None = cli
    for word in words:
        if not isinstance(command, click.Group):
            return command  # the rest are arguments
        command = command.get_command(click.Context(command), word)
    return command


def test_the_page_names_no_other_alert() -> None:
    assert re.findall(r"^\| `(Router\w+)` \|", PAGE, re.MULTILINE) == [
        alert["alert"] for alert in ALERTS
    ]


@pytest.mark.long
@needs_promtool
def test_promtool_takes_the_alerts_and_they_fire_when_they_should() -> None:
    promtool("check", "rules", "alerts.yaml")
    promtool("test", "rules", "alerts.test.yaml")


@needs_promtool
def test_every_alert_has_been_seen_to_fire() -> None:
    tests = (PLACE / "alerts.test.yaml").read_text("utf-8")
    assert [one["alert"] for one in ALERTS if f'alertname="{one["alert"]}"' not in tests] == []


@needs_promtool
def test_promtool_takes_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel_{number}", "expr": expression}
        for number, (_, expression, _) in enumerate(panels())
    ]
    file = tmp_path / "panels.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", str(file))


@needs_promtool
def test_promtool_takes_the_configuration_that_is_shown(tmp_path: Path) -> None:
    (tmp_path / "prometheus.yaml").write_text(block("monitoring.md", "yaml"))
    (tmp_path / "prometheus.token").write_text("rtr_a")
    shutil.copy(PLACE / "alerts.yaml", tmp_path)
    promtool("check", "config", "prometheus.yaml", at=tmp_path)


def promtool(*words: str, at: Path = PLACE) -> None:
    done = subprocess.run(["promtool", *words], cwd=at, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def families(served: str) -> dict[str, Metric]:
    """What is served, by name."""
    found = text_string_to_metric_families(served)
    named = {f"{one.name}_total" if one.type == "counter" else one.name: one for one in found}
    return {name: one for name, one in named.items() if not name.endswith("_created")}


def test_every_metric_is_in_the_table() -> None:
    metrics = Metrics()
    fetches_of(metrics)
    assert set(families(metrics.render().decode())) - set(documented()) == set()


LATER = {"router_commit_failures_total", "router_ack_late_total", "router_endpoint_silent"}
"""Without a sample when a router has only begun and nothing is wrong."""
RULES = ENDPOINTS + (
    "targets: {sink: {url: SINK}}\n"
    "rules:\n"
    "  - {id: main, from: code, actions: {http: {target: sink, path: /in}}}\n"
    "  - {id: shadowed, from: code, mode: shadow, actions: {log: a}}\n"
    "  - {id: wrong, from: code, match: decimal(payload.ref) > 1, actions: {log: a}}\n"
)


@pytest.mark.long
def test_a_real_router_serves_what_the_table_has(tmp_path: Path) -> None:
    """Each metric of the table and no other; where one has samples, by the labels of the table."""
    cert, key = write_certificate(tmp_path, "localhost")
    with Sink(answers=[410]) as sink:
        server = f"  tls: {{cert: {cert}, key: {key}}}\n"
        rig = Rig(tmp_path / "router", RULES.replace("SINK", sink.url), environ(), server)
        with rig.router() as router, httpx.Client(verify=False) as client:  # noqa: S501 - our own
            base, now_ms = f"https://127.0.0.1:{rig.listen}", time.time_ns() // 1_000_000
            good, forged = (
                client.send(code().request(base, 1, now_ms=now_ms, key=secret)).status_code
                for secret in (None, b"another")
            )
            assert (good, forged) == (200, 401)
            router.until(
                lambda: 'router_jobs_total{kind="http",outcome="dead"} 1.0' in _text(rig),
                "the job's end",
            )
            served = _text(rig)
    names, table = families(served), documented()
    assert set(names) == set(table)
    odd = {
        f"{sample.name}{sorted(sample.labels)}"
        for name, family in names.items()
        for sample in family.samples
        if set(sample.labels) - {"le"} != table[name]
    }
    assert odd == set()
    without = {name for name, family in names.items() if table[name] and not family.samples}
    assert without & used() <= LATER


def used() -> set[str]:
    """The metrics that alerts and panels name."""
    expressions = [one["expr"] for one in ALERTS] + [expression for _, expression, _ in panels()]
    found = re.findall(r"\b(?:router|process)_\w+", " ".join(expressions))
    return {OF_HISTOGRAMS.sub("", name) for name in found}


def _text(rig: Rig) -> str:
    return httpx.get(f"http://127.0.0.1:{rig.admin}/metrics").text
