"""
One endpoint's harm is not its neighbour's: with every hostile target, command and plugin at work
at once, each delivery of another endpoint is answered 200.

A process that the machine lets stand still for 0.75 s refuses what waited (503, `busy`), whoever
took the cores. So harm is done anew, a few times at most, until it was borne without a refusal; a
loop that harm stops never bears it. `python -m benchmarks.hostile` holds each of them alone to
50 ms; `tests.hostile.turns` holds what each takes of the loop to 50 ms of processor time.
"""

import itertools
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from benchmarks import pushes
from benchmarks.bench import child
from benchmarks.pace import connect, read_answer
from tests.acceptance.process import Rig
from tests.hostile import site

pytestmark = pytest.mark.long

RATE = 200
SECONDS = 2
TIMES = 5
P99_MAX_MS = 2_500
"""What a sender is promised in all."""
PATIENT = "  limits: {answer: 30s}\n"


@pytest.mark.timeout(600)
def test_every_delivery_of_a_neighbour_is_answered(tmp_path: Path) -> None:
    with site.targets() as urls:
        every = site.actions(urls)
        rig = site.a_rig(tmp_path / "router", every, PATIENT)
        with rig.router() as router:
            numbers = itertools.count()
            seen: list[list[int]] = []
            while len(seen) < TIMES and (not seen or any(seen[-1])):
                seen.append(list(neighbour_beside(rig, every, numbers)))
            assert not any(seen[-1]), f"of {RATE * SECONDS} not answered, by round: {seen}"
            assert router.stop() == 0, "in order, which ends whatever still runs"


def neighbour_beside(rig: Rig, every: Collection[str], numbers: Iterator[int]) -> Iterator[int]:
    """Do all harm beside rounds of deliveries, until it has begun; how many were not answered."""
    wanted = site.started(rig) + len(every)
    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(a_round, rig, next(numbers))
        refused = sum(do_harm(rig, name) for name in every)
        yield refused + first.result()
    while site.started(rig) < wanted:
        yield a_round(rig, next(numbers))


def a_round(rig: Rig, number: int) -> int:
    """How many of some hundred deliveries were not answered 200; all of them, if too late."""
    request = pushes.write_request(rig.listen, rig.folder / "push.http")
    try:
        found = child("benchmarks.pace", rig.listen, request, RATE, RATE * SECONDS, number)
    except CalledProcessError:  # its connections were cut, or nothing was answered at all
        return RATE * SECONDS
    late = found["p99_ms"] > P99_MAX_MS
    return RATE * SECONDS - (0 if late else found["answers"])


def do_harm(rig: Rig, name: str) -> int:
    """Send what starts it until it is taken; how often it was refused."""
    refused = 0
    while not taken(rig, name):
        refused += 1
    return refused


def taken(rig: Rig, name: str) -> bool:
    with connect(rig.listen) as link:
        link.sendall(site.order(rig, name))
        return read_answer(link).startswith(b"HTTP/1.1 200")
