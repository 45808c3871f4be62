"""Routers that share a PostgreSQL database: one ledger, and a password that stays where it was."""

import json
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import Send
from tests.acceptance.process import Rig, called
from tests.acceptance.senders import ENDPOINTS, code, environ
from tests.postgres.server import Server

pytestmark = pytest.mark.long

PASSWORD = "hunter2-hunter2"
RULES = ENDPOINTS + 'rules: [{id: all, from: all, actions: {log: "saw {{ event }}"}}]\n'


@pytest.fixture
def address(postgres_server: Server, new_database: str) -> str:
    """With a password."""
    return postgres_server.address(new_database).replace("//router@", f"//router:{PASSWORD}@")


def ended(rig: Rig) -> bool:
    code, listed, said = called(rig, "deliveries", "--json")
    assert (code, said) == (0, "")
    return [one["jobs"] for one in json.loads(listed)] == [{"succeeded": 1}]


def test_what_one_accepts_another_knows_and_nobody_tells_the_password(
    tmp_path: Path, send: Send, address: str, postgres_server: Server, new_database: str
) -> None:
    known = {**environ(), "ROUTER_STORE": address}
    one, other = (Rig(tmp_path / name, RULES, known) for name in ("one", "other"))
    with one.router() as first, other.router() as second:
        answers = [send(rig, code(), 1).json()["status"] for rig in (one, other)]
        assert answers == ["accepted", "duplicate"]
        second.until(lambda: ended(other), "the job")
        token = (tmp_path / "other" / "router.token").read_text("ascii").strip()
        said = httpx.get(
            f"{second.admin_url}/api/status", headers={"authorization": f"Bearer {token}"}
        ).text
        assert json.loads(said)["store"]["path"].startswith(f"postgresql:///{new_database}?host=")
        said += str([called(other, words) for words in ("rules", "doctor", "addresses")])
        assert first.stop() == 0, first.output()
        assert ended(other)
        assert second.stop() == 0, second.output()
    said += str([called(other, "deliveries"), called(other, "store", "backup", "x.db")])
    said += "".join(file.read_text("utf-8") for file in tmp_path.rglob("*") if file.is_file())
    said += postgres_server.dump(new_database)
    assert "saw push" in said
    assert PASSWORD not in said
