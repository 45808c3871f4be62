"""The files of deploy/fleet/ begin three routers."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import ROOT, RouterProcess, free_ports
from tests.deploy.test_compose import FILES, router
from tests.postgres.server import Server

RULES = (FILES["fleet"].parent / "rules" / "rules.yaml").read_text("utf-8")


@pytest.fixture
def address(postgres_server: Server, new_database: str) -> str:
    return postgres_server.address(new_database, tcp=True)


@pytest.mark.long
def test_three_routers_begin_and_their_probes_answer(address: str, tmp_path: Path) -> None:
    """By the files' own rules and variables; addresses and folders are this machine's."""
    given = router("fleet")["environment"]
    routers = [_router(tmp_path / str(number), given, address) for number in range(3)]
    try:
        for one in routers:
            one.launch()
        for one in routers:
            one.until(one.ready, "ready")
            asked = httpx.get(f"{one.admin_url}/readyz", headers={"host": "10.1.2.3:8001"})
            assert (asked.status_code, asked.text) == (200, "ready\n")
        told = subprocess.run(
            [sys.executable, "-m", "router", "store", "info"],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **routers[0].environ},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.count("\nnode ") == 3
        assert [one.stop() for one in routers] == [0, 0, 0]
    finally:
        for one in routers:
            if one.running:
                one.kill()


def _router(folder: Path, given: Mapping[str, str], address: str) -> RouterProcess:
    listen, admin = free_ports(2)
    data = folder / "data"
    data.mkdir(parents=True)
    rules = folder / "rules.yaml"
    rules.write_text(RULES.replace("state_dir: /data", f"state_dir: {data}"), "utf-8")
    environ = {
        **given,
        "ROUTER_RULES": str(rules),
        "ROUTER_STORE": address,
        "ROUTER_LISTEN": f"0.0.0.0:{listen}",
        "ROUTER_ADMIN": f"0.0.0.0:{admin}",
    }
    return RouterProcess(rules, listen, admin, environ)
