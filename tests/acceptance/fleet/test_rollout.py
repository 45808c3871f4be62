"""Rules that are published: on all routers of a database, whichever file each has."""

import json
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import Send
from tests.acceptance.process import Rig, RouterProcess, called
from tests.acceptance.senders import ENDPOINTS, code, environ

pytestmark = pytest.mark.long


def rules(word: str) -> str:
    return ENDPOINTS + f"rules: [{{id: all, from: code, actions: {{log: {word}}}}}]\n"


def generation(rig: Rig, router: RouterProcess) -> str:
    """What a router has in force."""
    token = (rig.folder / "router.token").read_text("ascii").strip()
    said = httpx.get(
        f"{router.admin_url}/api/status", headers={"authorization": f"Bearer {token}"}
    ).json()
    found: str = said["generation"]
    return found


def test_what_one_publishes_is_in_force_on_all_and_on_those_that_come_later(
    tmp_path: Path, send: Send, address: str
) -> None:
    known = {**environ(), "ROUTER_STORE": address}
    names = ("one", "other", "late")
    one, other, late = (
        Rig(tmp_path / name, rules("before"), known, server="  rules: published\n")
        for name in names
    )
    with one.router() as first, other.router() as second:
        began = generation(one, first)
        assert generation(other, second) == began
        one.write(rules("{{ nonsense }}"))
        assert called(one, "rules", "publish")[0] == 1
        one.write(rules("after"))
        assert called(one, "rules", "publish", "--dry-run")[0] == 0
        exit_, answer, said = called(one, "rules", "publish", "--json")
        assert exit_ == 0, said
        told = json.loads(answer)
        assert (told["published"], told["seq"]) == (True, 2)
        for rig, router in ((one, first), (other, second)):
            router.until(lambda r=rig, p=router: generation(r, p) == told["generation"], "it")
        assert told["generation"] != began
        with late.router() as third:
            assert generation(late, third) == told["generation"]
            assert send(late, code(), 1).json()["status"] == "accepted"
        again = json.loads(called(one, "rules", "publish", "--json")[1])
        assert (again["published"], again["seq"]) == (False, 2)
        exit_, listed, _ = called(one, "audit", "--json")
        assert [(x["verb"], x["asked"]["seq"]) for x in json.loads(listed)] == [("publish", 2)]
