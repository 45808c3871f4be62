"""A router in its own folder for each test, and a client for it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import Rig
from tests.acceptance.senders import ENDPOINTS, Sender, environ

MakeRig = Callable[[str], Rig]
Send = Callable[..., httpx.Response]


@pytest.fixture
def make_rig(tmp_path: Path) -> MakeRig:
    """Lay out a folder with the three endpoints and the given rules (YAML from `rules:` on)."""

    def make(rules: str) -> Rig:
        return Rig(tmp_path / "router", ENDPOINTS + rules, environ())

    return make


@pytest.fixture
def send() -> Iterator[Send]:
    """Send delivery `number` of a sender to a rig: really signed, now."""
    with httpx.Client(trust_env=False, timeout=10) as client:

        def post(rig: Rig, sender: Sender, number: int, **options: bytes) -> httpx.Response:
            base = f"http://127.0.0.1:{rig.listen}"
            now_ms = time.time_ns() // 1_000_000
            return client.send(sender.request(base, number, now_ms=now_ms, **options))

        yield post
