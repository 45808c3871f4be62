"""The real process with a socket of the service manager: started by a delivery, and restarted."""

import shutil
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import httpx
import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import PATIENCE_S, Rig, RouterProcess

pytestmark = pytest.mark.long

OPEN = """endpoints:
  any: {paths: /any, provider: none, verify: none}
rules:
  - {id: all, from: all, actions: {log: hi}}
"""
HANDING = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


def handed(router: RouterProcess, held: socket.socket) -> RouterProcess:
    """As a service manager starts it that has this socket."""
    number = held.fileno()
    return replace(
        router,
        environ={**router.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "listen"},
        tracer=(sys.executable, "-c", HANDING, str(number)),
        keeps=(number,),
    )


@contextmanager
def senders(port: int, count: int) -> Iterator[Counter[str]]:
    """Each sends one delivery after the other, each by a connection of its own; what they hear."""
    heard: Counter[str] = Counter()
    enough = threading.Event()

    def send() -> None:
        while not enough.is_set():
            try:
                answer = httpx.post(f"http://127.0.0.1:{port}/any", json={}, timeout=PATIENCE_S)
                heard[str(answer.status_code)] += 1
            except httpx.HTTPError as error:
                heard[repr(error)] += 1

    threads = [threading.Thread(target=send) for _ in range(count)]
    for one in threads:
        one.start()
    try:
        yield heard
    finally:
        enough.set()
        for one in threads:
            one.join()


def test_a_restart_refuses_nobody(make_rig: MakeRig) -> None:
    """Deliveries that come meanwhile wait in the socket, and all are answered by 200."""
    rig = make_rig("")
    rig.write(OPEN)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as held:
        port = held.getsockname()[1]
        router = handed(rig.router(), held).launch()
        with senders(port, 4) as heard:
            for _ in range(3):
                before = heard.total()
                router.until(lambda n=before: heard.total() >= n + 20, "deliveries")  # type: ignore[misc]
                assert router.stop() == 0
                router.launch()
            before = heard.total()
            router.until(lambda: heard.total() >= before + 20, "deliveries")
        assert set(heard) == {"200"}
        assert router.stop() == 0
        shown = router.log.read_text("utf-8")
    assert shown.count(f'"listen":"127.0.0.1:{port}"') == 4


@contextmanager
def activated(rig: Rig, *names: str) -> Iterator[RouterProcess]:
    """systemd's own program listens, and starts the router when somebody comes."""
    program = shutil.which("systemd-socket-activate")
    if program is None:
        pytest.skip("systemd-socket-activate is not on this machine")
    with ExitStack() as drawn:  # it does not share a port that is kept for others
        listen, admin = (
            drawn.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            for _ in range(2)
        )
    places = (f"--listen=127.0.0.1:{port}" for port in (listen, admin)[: len(names)])
    tracer = (program, *places, f"--fdname={':'.join(names)}")
    router = replace(rig.router(), listen=listen, admin=admin, tracer=tracer).launch()
    try:
        router.until(lambda: router.output().count("Listening on") == len(names), "its sockets")
        yield router
    finally:
        if router.running:
            router.kill()


def test_the_first_delivery_starts_it_and_is_answered(make_rig: MakeRig) -> None:
    rig = make_rig("")
    rig.write(OPEN)
    with activated(rig, "listen", "admin") as router:
        answer = httpx.post(f"{router.url}/any", json={}, timeout=PATIENCE_S)
        assert (answer.status_code, answer.json()["status"]) == (200, "accepted")
        assert router.ready()
        assert router.stop() == 0


def test_a_socket_of_another_name_is_refused_and_said(make_rig: MakeRig) -> None:
    rig = make_rig("")
    rig.write(OPEN)
    with activated(rig, "router.socket") as router:
        with pytest.raises(httpx.HTTPError):
            httpx.post(f"{router.url}/any", json={}, timeout=PATIENCE_S)
        assert router.ended(within=PATIENCE_S) == 1
        assert "a socket named 'router.socket': name one 'listen' for deliveries" in router.output()
