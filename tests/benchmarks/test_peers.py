"""The other programs: what is told of one that is not here, and what a flow may look like."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks import beside, nodered, peers, rows, rulebook
from benchmarks.sizes import rows_of
from benchmarks.wrk import Load


def a_load(answers: int, *, not_2xx: int = 0) -> Load:
    """As many answers in one second."""
    return Load(answers, 1_000_000, not_2xx, 0, 1.0, 2.0)


def test_one_that_is_not_here_has_rows_that_say_so() -> None:
    found = {row.name: row for row in beside.rows({"router": [a_load(100)]})}
    for label in ("adnanh/webhook", "Node-RED", "ansible-rulebook"):
        for name in (f"{label}, an equal hook", f"ratio to {label}"):
            assert (found[name].figure, found[name].unit) == (None, "not installed here")


def test_without_adnanh_webhook_the_echo_is_still_there() -> None:
    loads = {"router": [a_load(100)], "echo": [a_load(200)]}
    found = {row.name: row.figure for row in (*rows.plain_rows(loads), *rows.ratio_rows(loads))}
    assert found["ratio to bare Litestar echo"] == 0.5
    assert found["ratio to adnanh/webhook, waiting"] is None


def test_ratios_are_medians_of_the_rounds_own() -> None:
    ours = [a_load(100), a_load(900), a_load(300)]
    theirs = [a_load(100), a_load(100), a_load(100)]
    assert rows.ratio(ours, theirs) == 3.0


def test_what_is_refused_is_no_rate() -> None:
    assert beside.rate([a_load(100, not_2xx=40)]) == 60


def test_a_program_is_where_its_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_RED", str(tmp_path / "red"))
    assert peers.program(nodered.NAME) is None
    (tmp_path / "red").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "red").chmod(0o755)
    assert peers.program(nodered.NAME) == str(tmp_path / "red")


def test_no_property_of_a_flow_equals_the_id_of_a_node() -> None:
    """Node-RED takes such a property for a link, finds a circle and starts nothing."""
    flows = nodered.flows()
    ids = {node["id"] for node in flows}
    assert len(ids) == len(flows)
    for node in flows:
        plain = {n: v for n, v in node.items() if n not in ("id", "z", "wires")}
        assert not ids & set(texts(plain))


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []


def test_every_wire_ends_at_a_node() -> None:
    flows = nodered.flows()
    ends = {end for node in flows for wire in node.get("wires", ()) for end in wire}
    assert ends <= {node["id"] for node in flows}


def test_a_rulebook_is_yaml_and_checks_the_signature() -> None:
    (book,) = yaml.safe_load(rulebook.rules(5000))
    source = book["sources"][0]["eda.builtin.webhook"]
    assert source["hmac_header"] == "X-Hub-Signature-256"
    assert json.dumps(book["rules"][0]["condition"]).count("refs/heads/main") == 1


def test_of_bodies_none_of_which_was_done_there_is_no_figure() -> None:
    assert {row.figure for row in rows_of("25 MiB", a_load(0), 25)} == {None}
    assert [row.figure for row in rows_of("1 kB", a_load(1_000), 1_000)] == [1_000, 1.0, 2.0]
