"""The units of deploy/ name what there is, and systemd takes them."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.process import ROOT
from tests.deploy.commands import parsed
from tests.deploy.rules import GRACE_S, PORT, SOCKETS

FOLDER = ROOT / "deploy"
UNIT = (FOLDER / "router.service").read_text("utf-8")
SOCKET = (FOLDER / "router.socket").read_text("utf-8")
DEPLOYING = (FOLDER / "deploying.conf").read_text("utf-8")
KEEP_SUDO_OUT = {
    "CapabilityBoundingSet",
    "DynamicUser",
    "LockPersonality",
    "MemoryDenyWriteExecute",
    "NoNewPrivileges",
    "PrivateDevices",
    "ProtectClock",
    "ProtectHostname",
    "ProtectKernelLogs",
    "ProtectKernelModules",
    "ProtectKernelTunables",
    "RestrictAddressFamilies",
    "RestrictNamespaces",
    "RestrictRealtime",
    "RestrictSUIDSGID",
    "SystemCallArchitectures",
    "SystemCallFilter",
}
"""Settings under which a user other than root can gain no rights: see systemd.exec(5)."""


def settings(text: str) -> dict[str, list[str]]:
    """The unit's settings, commented-out ones too: somebody will take them for true."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(?:# )?([A-Z][A-Za-z]+)=(.*)$", text, re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("setting", ["ExecStart", "ExecStartPre"])
def test_the_unit_s_commands_are_ours(setting: str) -> None:
    for line in settings(UNIT)[setting]:
        program, *words = shlex.split(line)
        assert program.endswith("/bin/router")
        assert "/etc/router/rules.yaml" in words
        with parsed(words):
            pass


def test_the_unit_waits_longer_than_the_router_drains() -> None:
    [wait] = settings(UNIT)["TimeoutStopSec"]
    assert int(wait.removesuffix("s")) > GRACE_S + 5
    assert settings(UNIT)["ExecReload"] == ["/bin/kill -HUP $MAINPID"]


def test_credentials_are_named_as_the_reference_names_them() -> None:
    reference = (ROOT / "docs" / "rules.md").read_text("utf-8")
    named = set(re.findall(r"\{credential: (\w+)\}", reference))
    given = {value.partition(":")[0] for value in settings(UNIT)["LoadCredential"]}
    assert named <= given


def test_the_socket_is_the_public_listener_s() -> None:
    assert settings(SOCKET)["FileDescriptorName"] == [SOCKETS[0]]
    assert settings(SOCKET)["ListenStream"] == [PORT]
    assert f"FileDescriptorName={SOCKETS[1]}" in SOCKET
    for order in ("Wants", "After"):
        assert "router.socket" in settings(UNIT)[order][0].split()


def test_the_drop_in_takes_back_what_keeps_sudo_out() -> None:
    assert settings(UNIT).keys() & KEEP_SUDO_OUT <= settings(DEPLOYING).keys()


@pytest.mark.parametrize(
    "dropped_in",
    ["", DEPLOYING, re.sub("^# (?=[A-Z]\\w+=)", "", DEPLOYING, flags=re.M)],
    ids=["alone", "deploying", "with sudo"],
)
def test_systemd_takes_the_units(dropped_in: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine")
    program = tmp_path / "router"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    units = [tmp_path / f"router.{kind}" for kind in ("service", "socket")]
    for unit, text in zip(units, (UNIT, SOCKET), strict=True):
        unit.write_text(text.replace("/opt/router/bin/router", str(program)), "utf-8")
    (tmp_path / "router.service.d").mkdir()
    (tmp_path / "router.service.d" / "deploying.conf").write_text(dropped_in, "utf-8")
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, units)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )
    ours = [line for line in ran.stderr.splitlines() if re.search(r"router\.|deploying", line)]
    assert ours == []
