"""docs/asgi.md: its applications answer, and its commands are uvicorn's."""

import shlex
import time
from pathlib import Path

import httpx
import pytest
from uvicorn.main import main

from tests.acceptance.asgi_server import asgi_process
from tests.acceptance.process import Rig
from tests.acceptance.senders import ENDPOINTS, environ, shop
from tests.docs.pages import blocks

COMMANDS = [shlex.split(line) for block in blocks("asgi.md", "sh") for line in block.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize(("number", "mount"), [(0, ""), (1, "/hooks")])
def test_an_application_takes_deliveries(tmp_path: Path, number: int, mount: str) -> None:
    rig = Rig(tmp_path / "router", ENDPOINTS, environ())
    source = blocks("asgi.md", "python")[number]
    with asgi_process(rig, source.replace('"rules.yaml"', "{rules!r}")) as router:
        request = shop().request(router.url + mount, 1, now_ms=time.time_ns() // 1_000_000)
        with httpx.Client(trust_env=False) as client:
            assert client.send(request).status_code == 200


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_has_options_that_uvicorn_knows(command: list[str]) -> None:
    assert "uvicorn" in command
    words = command[command.index("uvicorn") + 1 :]
    assert main.make_context("uvicorn", words).params["port"] == 8000
