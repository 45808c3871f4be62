"""Routers that share a PostgreSQL database: what is done at one of them holds at the other."""

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import Send
from tests.acceptance.process import Rig, called
from tests.acceptance.senders import ENDPOINTS, code, environ

pytestmark = pytest.mark.long

RULES = ENDPOINTS + 'rules: [{id: all, from: all, actions: [{shell: {script: "true"}}]}]\n'


def said(rig: Rig, *command: str) -> str:
    exit_, out, err = called(rig, *command)
    assert exit_ == 0, err
    return out


def states(rig: Rig) -> list[dict[str, int]]:
    return [one["jobs"] for one in json.loads(said(rig, "deliveries", "--json"))]


def paused(rig: Rig) -> list[str]:
    return [
        one["name"]
        for one in json.loads(said(rig, "targets", "--json"))
        if one["state"] == "paused"
    ]


def nodes(rig: Rig) -> list[bool]:
    """Of each router that joined whether it is gone."""
    return [one["gone"] for one in json.loads(said(rig, "store", "info", "--json"))["nodes"]]


def test_a_target_is_paused_and_resumed_at_any_router(
    tmp_path: Path, send: Send, address: str
) -> None:
    known = {**environ(), "ROUTER_STORE": address}
    one, other = (Rig(tmp_path / name, RULES, known) for name in ("one", "other"))
    with one.router() as first, other.router() as second:
        assert send(one, code(), 1).json()["status"] == "accepted"
        first.until(lambda: states(one) == [{"succeeded": 1}], "a job")
        (target,) = (t["name"] for t in json.loads(said(other, "targets", "--json")))
        said(one, "targets", "pause", target)
        second.until(lambda: paused(other) == [target], "the pause")
        assert send(other, code(), 2).json()["status"] == "accepted"
        second.until(lambda: {"waiting": 1} in states(other), "it waits")
        said(other, "targets", "resume", target)
        first.until(lambda: paused(one) == [], "the end of the pause")
        first.until(lambda: states(one) == [{"succeeded": 1}] * 2, "both")
        assert nodes(one) == [False, False]
        assert second.stop() == 0, second.output()
        assert nodes(one) == [False, True]
