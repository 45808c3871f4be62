"""What one router takes and runs is followed at another one that shares its database."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.conftest import Send
from tests.acceptance.process import PATIENCE_S, Rig
from tests.acceptance.senders import ENDPOINTS, code, environ
from tests.acceptance.sink import Sink
from tests.acceptance.test_listen import listening, objects

pytestmark = pytest.mark.long

RULES = ENDPOINTS + 'rules: [{id: all, from: all, actions: [{shell: {script: "true"}}]}]\n'

Happened = tuple[str, dict[str, Any]]


@contextmanager
def fed(rig: Rig) -> Iterator[Iterator[Happened]]:
    """What the live feed of a router says, from now on."""
    token = (rig.folder / "router.token").read_text().strip()
    url = f"http://127.0.0.1:{rig.admin}/api/feed"
    headers = {"authorization": f"Bearer {token}"}
    with httpx.stream("GET", url, headers=headers, timeout=PATIENCE_S, trust_env=False) as response:
        assert response.status_code == 200
        told = messages(response.iter_lines())
        assert next(told)[0] == "hello"
        yield told


def messages(lines: Iterator[str]) -> Iterator[Happened]:
    event = ""
    for line in lines:
        if line.startswith("event: "):
            event = line[7:]
        elif line.startswith("data: "):
            yield event, json.loads(line[6:])


def test_a_delivery_to_one_router_is_followed_at_the_other(
    tmp_path: Path, send: Send, address: str
) -> None:
    known = {**environ(), "ROUTER_STORE": address}
    one, other = (Rig(tmp_path / name, RULES, known) for name in ("one", "other"))
    with one.router(), other.router(), Sink() as sink, fed(other) as told:
        with listening(other, sink, "--json") as listener:
            objects(listener, "connection")
            sent = send(one, code(), 1).json()
            assert objects(listener, "delivery")["delivery"] == sent["delivery"]
        kinds = dict[str, dict[str, Any]]()
        while kinds.keys() < {"delivery", "attempt"}:
            kind, happened = next(told)
            kinds[kind] = happened
        assert kinds["delivery"]["id"] == kinds["attempt"]["delivery"] == sent["delivery"]
        assert kinds["delivery"]["rules"] == ["all"]
        assert kinds["attempt"]["outcome"] == "succeeded"
