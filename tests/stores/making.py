"""A program of ours, of any age, is served its traffic and stopped."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from tests.acceptance.process import Rig
from tests.acceptance.senders import Sender, code, shop
from tests.stores.traffic import CANCELLED, ENVIRON, MATCHED, SERVER, UNMATCHED, rules

ENDED = {"succeeded": 1, "dead": 1, "waiting": 1}


def left_by(program: Path, folder: Path, **environ: str) -> Rig:
    """A folder whose store has the traffic in it; nothing runs any more."""
    text = rules(mode="paused", url="http://127.0.0.1:9/")
    rig = Rig(folder, text, {**ENVIRON, **environ}, server=SERVER, code=program)
    with rig.router() as process:
        ids = {number: sent(rig, code(), number)["delivery"] for number in MATCHED}
        sent(rig, code(), MATCHED[0])
        sent(rig, shop(), UNMATCHED)
        process.until(lambda: all(ended(rig, one) for one in ids.values()), "the jobs")
        asked(rig, "cancel", ids[CANCELLED])
        assert process.stop() == 0, process.output()
    return rig


def sent(rig: Rig, sender: Sender, number: int) -> Any:
    """Its answer."""
    base = f"http://127.0.0.1:{rig.listen}"
    request = sender.request(base, number, now_ms=time.time_ns() // 1_000_000)
    with httpx.Client(trust_env=False, timeout=10) as client:
        return client.send(request).raise_for_status().json()


def ended(rig: Rig, delivery: str) -> bool:
    listed = json.loads(asked(rig, "deliveries", "--json"))
    return [one["jobs"] for one in listed if one["id"] == delivery] == [ENDED]


def asked(rig: Rig, *args: str) -> str:
    """What a command of the rig's program prints."""
    known = {"ROUTER_RULES": str(rig.path), "PATH": os.environ["PATH"], **rig.environ}
    command = [rig.python, "-m", "router", *args]
    done = subprocess.run(
        command, cwd=rig.code, env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
