"""The running program with a sender that a function of the user's own proves."""

import hashlib
import hmac
from pathlib import Path

import httpx
import pytest

from tests import ledger
from tests.acceptance.process import Rig
from tests.docs.pages import blocks

pytestmark = pytest.mark.long

KEY = "s3cr3t-canary-9f2e-of-the-crm"
[RULES] = [block for block in blocks("providers.md", "yaml") if "scheme: python" in block]
[PLUGIN] = [block for block in blocks("providers.md", "python") if "# plugins/crm.py" in block]


def checked(body: bytes, key: str = KEY) -> str:
    doubled = hashlib.sha256(hashlib.sha256(body).digest()).digest()
    return hmac.digest(key.encode(), doubled, "sha512").hex()


def test_a_delivery_is_taken_when_the_function_says_so(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "router", RULES.removeprefix("version: 1\n"), {"CRM_SECRET": KEY})
    plugin = rig.folder / "plugins" / "crm.py"
    plugin.parent.mkdir()
    plugin.write_text(PLUGIN)
    path, body = "/wh_8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54", b'{"type": "told"}'
    with rig.router() as router, httpx.Client(base_url=router.url, trust_env=False) as client:

        def post(check: str | None) -> httpx.Response:
            return client.post(path, content=body, headers={"X-CRM-Check": check} if check else {})

        assert post(checked(body)).status_code == 200
        assert post(checked(body, "another")).status_code == 401
        assert post(None).status_code == 401
        router.until(lambda: ledger.counts(rig.store).succeeded == 1, "the genuine one's job")
        plugin.write_text("def verify(body, headers, secrets):\n    raise ValueError(secrets)\n")
        router.until(lambda: '"reloaded' in router.output(), "the reload")
        failed = post(checked(body))
        assert (failed.status_code, "retry-after" in failed.headers) == (503, True)
        router.says("proof_failed")
        assert KEY not in router.output()
    stored = b"".join(part.read_bytes() for part in rig.folder.glob("router.db*"))
    assert KEY.encode() not in stored
    assert checked(body).encode() not in stored
