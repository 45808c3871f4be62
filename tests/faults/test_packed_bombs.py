"""Bodies that unpack to gigabytes: they cost the limit at most, one at a time, and delay nobody."""

import hashlib
import hmac
import re
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import Rig, RouterProcess

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc"),
]

MIB = 1024**2
KEY = b"a-secret-of-some-length"
LIMIT = 100 * MIB
"""No body unpacks to more."""
OVERHEAD = 100 * MIB
"""The bodies as sent, on both their ways, and what an allocator rounds up."""
RULES = """
secrets: {key: {env: KEY}}
endpoints:
  signed: {paths: /signed, provider: hmac, secrets: key, verify: {header: x-sig}, body_max: 20MiB}
  open: {paths: /open, provider: none, verify: none, body_max: 20MiB}
  small: {paths: /small, provider: none, verify: none, dedupe: off}
rules:
  - {id: r, from: all, match: payload.n > 0, actions: {log: seen}}
"""


def bomb() -> bytes:
    """10 MB of gzip that say 10 GB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS + 16)
    first = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * 10_000


def peak(router: RouterProcess) -> int:
    assert router.process is not None
    status = Path(f"/proc/{router.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


@pytest.fixture
def router(tmp_path: Path) -> Iterator[RouterProcess]:
    rig = Rig(tmp_path / "router", RULES, environ={"KEY": KEY.decode()})
    with rig.router() as router:
        yield router
        assert router.stop() == 0


def sent(router: RouterProcess, path: str, body: bytes, coding: str) -> httpx.Response:
    proof = hmac.new(KEY, body, hashlib.sha256).hexdigest()
    headers = {"x-sig": proof, "content-encoding": coding, "content-type": "application/json"}
    url = f"{router.url}/{path}"
    return httpx.post(url, content=body, headers=headers, trust_env=False, timeout=30)


def test_bombs_cost_the_limit_at_most_and_delay_nobody(router: RouterProcess) -> None:
    assert sent(router, "small", b'{"n": 1}', "").status_code == 200
    before, body, paths = peak(router), bomb(), ("open", "signed") * 2
    with ThreadPoolExecutor(4) as threads:
        each = [threads.submit(sent, router, path, body, "gzip") for path in paths]
        while not all(one.done() for one in each):  # no answer may take over 2.5 s, else it is 503
            assert sent(router, "small", b'{"n": 1}', "").status_code == 200
    for path, one in zip(paths, each, strict=True):  # a bomb waits for those before it
        assert one.result().status_code in {413 if path == "open" else 200, 503}
    assert peak(router) - before < LIMIT + OVERHEAD
