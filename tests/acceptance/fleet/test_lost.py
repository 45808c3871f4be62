"""What `router status` says of a router that was killed, and of a database that is away."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.process import Rig, called
from tests.acceptance.senders import ENDPOINTS, environ
from tests.postgres.server import Server, new_place, set_up

pytestmark = pytest.mark.long

RULES = ENDPOINTS + "rules: [{id: all, from: code, actions: {log: it}}]\n"


@pytest.fixture
def database(postgres_server: Server) -> Iterator[Server]:
    """A server of this test's own: it is stopped."""
    server = set_up(new_place(postgres_server.binaries))
    yield server
    server.end()


def lost(rig: Rig) -> list[str]:
    """The routers that have not been seen for long, as the attention has them."""
    exit_, told, said = called(rig, "status", "--json")
    assert exit_ == 0, said
    texts = [one["text"] for one in json.loads(told)["attention"]]
    return [text for text in texts if "has not been seen since" in text]


def test_a_killed_router_is_an_attention_a_stopped_one_is_not_and_an_absent_database_is_named(
    tmp_path: Path, database: Server
) -> None:
    known = {**environ(), "ROUTER_STORE": database.address()}
    rigs = [Rig(tmp_path / name, RULES, known) for name in ("asked", "stopped", "killed")]
    with rigs[0].router() as asked, rigs[1].router() as stopped, rigs[2].router() as killed:
        assert stopped.stop() == 0, stopped.output()
        killed.kill()
        asked.until(lambda: bool(lost(rigs[0])), "the lost router")
        assert len(lost(rigs[0])) == 1

        database.stop()

        def status() -> str:
            exit_, _, said = called(rigs[0], "status")
            assert exit_ == 1
            return said

        asked.until(lambda: "has not been reached since 20" in status(), "the reason")
        assert f"router: http://127.0.0.1:{rigs[0].admin} is not ready: " in status()
        assert "; senders get 503, and try again (" in status()
