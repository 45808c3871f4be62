"""The same of the whole server: what its HTTP answers promised is on the disk when they leave."""

import os
import re
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests import ledger
from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import code, environ
from tests.faults import powercut, trace
from tests.faults.kill import JOBS_EACH, WITH_RUNS
from tests.faults.life import needs_strace

pytestmark = pytest.mark.long

DELIVERIES, AT_ONCE, IMAGES = 24, 4, 300
DELIVERY = re.compile(rb'"delivery":\s*"(dlv_\w+)"')


def is_answer(_: int, data: bytes) -> bool:
    """Whether these bytes tell a sender that its delivery is stored."""
    return DELIVERY.search(data) is not None and b'"status"' in data


def send(url: str, number: int) -> tuple[str, str]:
    """Send one delivery: the id it was given, and its body's digest."""
    request = code().request(url, number, now_ms=int(time.time() * 1000), size=900)
    with httpx.Client(trust_env=False, timeout=30) as client:
        answer = client.send(request)
    assert answer.status_code == 200
    return answer.json()["delivery"], ledger.digest(request.content)


def end(router: RouterProcess) -> None:
    """SIGTERM to the router itself: strace keeps what is sent to it."""
    assert router.process is not None
    tracer = router.process.pid
    [child] = Path(f"/proc/{tracer}/task/{tracer}/children").read_text("ascii").split()
    os.kill(int(child), signal.SIGTERM)
    assert router.ended(within=20) == 0, router.output()


@needs_strace
def test_what_a_200_promised_survives_every_power_cut(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "router", WITH_RUNS, environ())
    log = tmp_path / "trace.log"
    router = RouterProcess(rig.path, rig.listen, rig.admin, rig.environ, tracer=trace.tracer(log))
    with router, ThreadPoolExecutor(AT_ONCE) as senders:
        try:
            digests = dict(senders.map(lambda n: send(router.url, n), range(1, DELIVERIES + 1)))
        finally:
            end(router)
    steps = trace.read(log, rig.folder.resolve(), is_ack=is_answer)

    def promised(acks: Sequence[bytes]) -> dict[str, str]:
        found = {m.decode() for m in DELIVERY.findall(b"".join(acks))}
        return {i: d for i, d in digests.items() if i in found}

    assert len(promised([s.data for s in steps if s.kind == "ack"])) == DELIVERIES
    verdict = powercut.judge(steps, IMAGES, promised=promised, jobs_each=JOBS_EACH)
    assert verdict.odd == 0, verdict.examples
    assert verdict.acked > IMAGES
