"""Routers of the same rules on one database, whose secrets are not the same."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import Rig, RouterProcess, called
from tests.acceptance.senders import CODE_KEY, ENDPOINTS, environ

pytestmark = pytest.mark.long

RULES = ENDPOINTS + "rules: [{id: all, from: code, actions: {log: it}}]\n"
OTHER_KEY = CODE_KEY[::-1]


class Placed(Rig):
    """One whose file is the same as the others': its ports are options."""

    def head(self) -> str:
        return "version: 1\n"

    def router(self, *arguments: str) -> RouterProcess:
        places = (f"--listen=127.0.0.1:{self.listen}", f"--admin=127.0.0.1:{self.admin}")
        return super().router(*places, *arguments)


def why(router: RouterProcess) -> str:
    """Why it is not ready; "": it is, or does not answer yet."""
    try:
        said = httpx.get(f"{router.admin_url}/readyz")
    except httpx.TransportError:
        return ""
    return "" if said.status_code == 200 else said.text.strip().removeprefix("not ready: ")


def unready(rig: Rig) -> list[str]:
    """Why each router is not, as `router store info` says."""
    exit_, told, said = called(rig, "store", "info", "--json")
    assert exit_ == 0, said
    assert '"secrets"' not in told, "no fingerprint"
    return [node["unready"] or "" for node in json.loads(told)["nodes"]]


@contextmanager
def launched(rig: Rig) -> Iterator[RouterProcess]:
    """One that need not become ready."""
    router = rig.router().launch()
    try:
        yield router
    finally:
        router.kill()


def test_who_has_another_secret_is_not_ready_until_it_is_the_same(
    tmp_path: Path, address: str
) -> None:
    known = {**environ(), "ROUTER_STORE": address}
    one, other = (Placed(tmp_path / name, RULES, known) for name in ("one", "other"))
    with one.router() as first:
        other.environ = {**known, "CODE_SECRET": OTHER_KEY}
        with launched(other) as second:
            second.until(lambda: "secrets.code" in why(second), "it says what differs")
            assert "#1" in why(second)
            assert first.ready()
            second.until(lambda: unready(one) == ["", why(second)], "everybody can see it")
            assert second.stop() == 0
        assert "secrets.code" in second.output()
        other.environ = known
        with other.router() as second:
            assert why(second) == ""
            assert first.ready()
