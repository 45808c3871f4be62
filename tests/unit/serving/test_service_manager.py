"""What a service manager hears."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.serving.service_manager import ServiceManager
from tests.clocks import ManualClock, settle


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
        link.bind(str(tmp_path / "notify"))
        link.setblocking(False)
        yield link


def received(ear: socket.socket) -> list[str]:
    words = []
    while True:
        try:
            words.append(ear.recv(4096).decode())
        except BlockingIOError:
            return words


async def test_each_turn_of_a_life_is_said(ear: socket.socket) -> None:
    clock = ManualClock()
    manager = ServiceManager({"NOTIFY_SOCKET": ear.getsockname()}, clock)
    await clock.advance(2)
    manager.ready()
    manager.reloading()
    manager.status("two\nlines")
    manager.stopping()
    assert received(ear) == [
        *("READY=1", "RELOADING=1\nMONOTONIC_USEC=2000000", "STATUS=two lines", "STOPPING=1"),
    ]


async def test_the_watchdog_is_fed_twice_in_its_time(ear: socket.socket) -> None:
    clock = ManualClock()
    manager = ServiceManager(
        {"NOTIFY_SOCKET": ear.getsockname(), "WATCHDOG_USEC": "30000000"}, clock
    )
    assert manager.watchdog_s == 30
    feeding = asyncio.ensure_future(manager.watch())
    await settle()
    for _ in range(3):
        await clock.advance(15)
    assert received(ear) == ["WATCHDOG=1"] * 3
    feeding.cancel()


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"WATCHDOG_USEC": "1000000"},
        {"NOTIFY_SOCKET": "vsock:2:3", "WATCHDOG_USEC": "1000000"},
        {"NOTIFY_SOCKET": "/nowhere/to/be/found", "WATCHDOG_USEC": "x"},
        {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"},
    ],
)
def test_without_a_manager_nothing_happens(environ: dict[str, str]) -> None:
    manager = ServiceManager(environ, ManualClock())
    assert manager.watchdog_s is None
    manager.ready()
    manager.stopping()


def test_an_abstract_name_is_one_too() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        name = f"router-test-{os.getpid()}"
        ear.bind("\0" + name)
        ear.setblocking(False)
        ServiceManager({"NOTIFY_SOCKET": "@" + name}, ManualClock()).ready()
        assert received(ear) == ["READY=1"]
