"""The machine's clock is set under a real router: its work goes on as if nobody had."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig, RouterProcess, called, free_ports
from tests.acceptance.senders import code, shop
from tests.ledger import counts

DAY_S = 86_400
RULES = """
rules:
  - id: again
    from: code
    actions: {http: {url: "http://127.0.0.1:PORT/nobody"}}
    retry: {schedule: [2s, 2s, 2s, 2s, 2s], jitter: 0.1}
"""
SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int answer = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) {
        char text[32] = {0};
        int file = open(getenv("OFF_BY"), O_RDONLY);
        if (file >= 0 && read(file, text, 31) > 0) now->tv_sec += atoll(text);
        if (file >= 0) close(file);
    }
    return answer;
}
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler: cc"),
]


class Machine:
    """What the router takes for the machine's clock."""

    def __init__(self, folder: Path) -> None:
        source, library = folder / "shim.c", folder / "shim.so"
        source.write_text(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        self._off_by = folder / "off_by"
        self.set(0)
        self.environ = {"LD_PRELOAD": str(library), "OFF_BY": str(self._off_by)}

    def set(self, seconds: int) -> None:
        fresh = self._off_by.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self._off_by)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def retrying(make_rig: MakeRig, machine: Machine) -> Rig:
    rig = make_rig(RULES.replace("PORT", str(free_ports(1)[0])))
    rig.environ |= machine.environ
    return rig


def goes_on(router: RouterProcess, rig: Rig, upto: int) -> None:
    router.until(lambda: counts(rig.store).attempts >= upto, f"attempt {upto}", seconds=9)


@pytest.mark.parametrize("by", [-DAY_S, 3650 * DAY_S])
def test_retries_come_when_they_would_have(
    by: int, make_rig: MakeRig, send: Send, machine: Machine
) -> None:
    rig = retrying(make_rig, machine)
    with rig.router() as router:
        assert send(rig, code(), 1).status_code == 200
        goes_on(router, rig, 1)
        machine.set(by)
        goes_on(router, rig, 2)
        router.says("the clock was set")
        machine.set(0)
        goes_on(router, rig, 3)
        assert counts(rig.store).attempts == 3
        assert router.stop() == 0


def test_a_clock_that_goes_back_while_the_router_is_down(
    make_rig: MakeRig, send: Send, machine: Machine
) -> None:
    rig = retrying(make_rig, machine)
    with rig.router() as router:
        assert send(rig, code(), 1).status_code == 200
        goes_on(router, rig, 1)
        assert router.stop() == 0
    machine.set(-DAY_S)
    with rig.router() as router:
        goes_on(router, rig, 2)
        router.says("went back while the router was down")


def test_a_machine_that_boots_with_a_wrong_clock_costs_nothing(
    make_rig: MakeRig, send: Send, machine: Machine
) -> None:
    """Its retries are tried, and what it has is kept, if somebody sets it right within the hour."""
    rig = retrying(make_rig, machine)
    with rig.router() as router:
        assert send(rig, shop(), 1).status_code == 200  # which no rule wants
        assert send(rig, code(), 1).status_code == 200
        goes_on(router, rig, 1)
        assert router.stop() == 0
    machine.set(400 * DAY_S)
    with rig.router() as router:
        goes_on(router, rig, 2)
        router.says("past the store's last entry: if it is wrong, set it")
        assert "clock" in attention(rig)
        assert router.stop() == 0
    machine.set(0)
    with rig.router() as router:
        goes_on(router, rig, 3)
        assert "clock" not in attention(rig)
        assert json.loads(called(rig, "store", "prune", "--json")[1])["deliveries"] == 0


def attention(rig: Rig) -> set[str]:
    """The kinds of what needs attention."""
    _, out, _ = called(rig, "status", "--json")
    return {one["kind"] for one in json.loads(out)["attention"]}
