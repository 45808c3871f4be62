"""Numbers beyond all bounds, from strangers and from callers: each is refused in words."""

import base64
import json
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import Rig, RouterProcess

pytestmark = pytest.mark.long

RULES = """
secrets: {s: {env: S}}
providers:
  tokens:
    verify:
      {scheme: jwt, jwks_url: "https://127.0.0.1:9/keys", audience: us, tolerance: 60s,
       claims: {kind: hook}}
  stamped:
    verify:
      {scheme: hmac, header: X-S, timestamp: X-T, tolerance: 300s, message: "{timestamp}{body}"}
endpoints:
  tokens: {paths: /tokens, provider: tokens}
  stamped: {paths: /stamped, provider: stamped, secrets: s}
rules:
  - {id: all, from: all, actions: {log: seen}}
"""
FAR = "9" * 400
CLAIMS = [
    f'"exp": {FAR}',
    f'"exp": -{FAR}',
    f'"exp": 9e9, "nbf": {FAR}',
    f'"exp": 9e9, "iat": {"9" * 5000}',
    '"exp": 1e999',
    '"exp": 9e9, "x": 1e999',
    '"exp": 1e308, "nbf": -1e308',
]
STAMPS = [FAR, "9" * 12, "-1", "1e400", "NaN", "9999-12-31T23:59:59-23:59", "\u0663".encode()]
SELECTORS = [
    ("/api/cancel", "limit", 10**400),
    ("/api/cancel", "limit", -(2**63) - 1),
    ("/api/revive", "since", 2**63),
    ("/api/replay", "until", -(2**63) - 1),
    ("/api/erase", "since", 10**30),
]


def a_token(claims: str) -> str:
    parts = ('{"alg":"RS256","kid":"unknown"}', f'{{"aud":"us",{claims}}}', "x" * 256)
    return ".".join(base64.urlsafe_b64encode(p.encode()).rstrip(b"=").decode() for p in parts)


def test_no_number_is_a_fault_of_the_router(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "router", RULES, {"S": "a-made-up-secret-of-32-characters"})
    with rig.router() as router, httpx.Client(trust_env=False) as client:
        for claims in CLAIMS:
            headers = {"authorization": f"Bearer {a_token(claims)}"}
            answer = client.post(f"{router.url}/tokens", content=b"{}", headers=headers)
            assert answer.status_code == 401, claims
        for stamp in STAMPS:
            given = {"x-s": "00" * 32, "x-t": stamp}
            answer = client.post(f"{router.url}/stamped", content=b"{}", headers=given)
            assert answer.status_code == 401, stamp
        _by_callers(rig, router, client)
        log = router.log.read_text("utf-8")
        assert "Traceback" not in log
        assert router.stop() == 0


def _by_callers(rig: Rig, router: RouterProcess, client: httpx.Client) -> None:
    token = (rig.folder / "router.db.token").read_text("utf-8").strip()
    client.headers["authorization"] = f"Bearer {token}"
    for path, name, number in SELECTORS:
        body = json.dumps({"dry_run": True, "selector": {"endpoint": "stamped", name: number}})
        head = {"content-type": "application/json"}
        answer = client.post(f"{router.admin_url}{path}", content=body, headers=head)
        assert answer.status_code == 400, (path, answer.text)
        assert f"{name} has more than 15 digits" in answer.text
