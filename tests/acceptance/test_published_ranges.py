"""`allow_from: provider` in the running program, behind a trusted proxy, across a restart."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import Rig
from tests.acceptance.senders import CODE_ID, code, environ
from tests.api_server import Answer, ApiServer, api_server

pytestmark = pytest.mark.long

PROXY = "  trusted_proxies: [127.0.0.0/8]\n"
RULES = """
secrets: {code: {env: CODE_SECRET}}
endpoints:
  code:
    id: ENDPOINT
    provider: code-host
    secrets: code
    allow_from: provider
    api: {base: "BASE"}
rules:
  - {id: all, from: code, actions: {log: "saw {{ event }}"}}
"""
INSIDE, OUTSIDE = "192.0.2.77", "198.51.100.7"


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


@pytest.fixture
def rig(tmp_path: Path, api: ApiServer) -> Rig:
    rules = RULES.replace("ENDPOINT", CODE_ID).replace("BASE", api.url)
    return Rig(tmp_path / "router", rules, environ(), PROXY)


def sent(rig: Rig, number: int, forwarded: str) -> int:
    """The status of a genuine delivery that a proxy says came from there."""
    request = code().request(f"http://127.0.0.1:{rig.listen}", number, now_ms=0)
    request.headers["X-Forwarded-For"] = forwarded
    with httpx.Client(trust_env=False, timeout=10) as client:
        return client.send(request).status_code


def test_nobody_is_let_in_until_the_ranges_are_known(rig: Rig, api: ApiServer) -> None:
    """And a restart knows them, though the API answers no more."""
    api.script.append(Answer(500, "down"))
    with rig.router() as router:
        router.until(lambda: bool(api.asked), "the ranges to be asked for")
        assert sent(rig, 1, INSIDE) == 503
        # The next try is due in some seconds.
        router.until(lambda: sent(rig, 1, INSIDE) == 200, "the ranges to be known")
        assert sent(rig, 2, OUTSIDE) == 403
        assert sent(rig, 3, f"{INSIDE}, {OUTSIDE}") == 403
        assert sent(rig, 4, f"{OUTSIDE}, {INSIDE}") == 200
        assert sent(rig, 5, f"::ffff:{INSIDE}") == 200
        assert sent(rig, 6, "2001:db8:1::5") == 200
    api.script.extend([Answer(500, "down")] * 50)
    with rig.router():
        assert sent(rig, 7, INSIDE) == 200
        assert sent(rig, 8, OUTSIDE) == 403
