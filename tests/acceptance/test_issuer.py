"""A stranger's forged tokens beside genuine senders, at a router whose token issuer is slow."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import Rig

pytestmark = pytest.mark.long

RULES = """
secrets: {ours: {env: CLIENT_SECRET}}
providers:
  crm:
    verify:
      scheme: introspection
      introspect: {url: "https://127.0.0.1:PORT/", client_id: router, client_secret: ours}
    event: {field: type}
endpoints:
  crm: {paths: /crm, provider: crm}
rules:
  - {id: all, from: crm, actions: {log: hi}}
"""
STRANGER, OTHERS = "203.0.113.7", [f"2001:db8:0:{n}::7" for n in range(6)]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """With an issuer that takes connections and says nothing: each question lasts its second."""
    with socket.create_server(("127.0.0.1", 0)) as issuer:
        rules = RULES.replace("PORT", str(issuer.getsockname()[1]))
        proxy = "  trusted_proxies: [127.0.0.0/8]\n"
        yield Rig(tmp_path / "router", rules, {"CLIENT_SECRET": "s3cret"}, proxy)


async def sent(rig: Rig, addresses: list[str]) -> set[int]:
    """The statuses of deliveries that a proxy brings all at once, each with a token of its own."""
    async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
        asked = [
            client.post(
                f"http://127.0.0.1:{rig.listen}/crm",
                json={"type": "x"},
                headers={"X-Forwarded-For": address, "Authorization": f"Bearer {at}.{address}"},
            )
            for at, address in enumerate(addresses)
        ]
        return {answer.status_code for answer in await asyncio.gather(*asked)}


def test_a_stranger_s_forged_tokens_keep_nobody_else_from_being_asked_about(rig: Rig) -> None:
    with rig.router() as router:
        assert asyncio.run(sent(rig, [STRANGER] * 30 + OTHERS)) == {503}
        token = Path(f"{rig.store}.token").read_text("ascii").strip()
        asked = f"{router.admin_url}/api/refusals?limit=100"
        answer = httpx.get(asked, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
        refused = answer.json()["refusals"]
        assert router.stop() == 0
    reasons = {peer: {r["reason"] for r in refused if r["peer"] == peer} for peer in OTHERS}
    assert reasons == {peer: {"not_answered"} for peer in OTHERS}
    busy = [r["reason"] for r in refused if r["peer"] == STRANGER]
    assert busy.count("proof_busy") > len(OTHERS)
