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
from pathlib import Path

import pytest

from benchmarks import pushes
from benchmarks.bench import child
from benchmarks.pace import connect, read_answer
from tests.acceptance.process import Rig
from tests.hostile import site

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
    """Do all harm, and send rounds of deliveries until it has begun; how many were not answered."""
    request = pushes.write_request(rig.listen, rig.folder / "push.http")
    wanted = site.started(rig) + len(every)
    for name in every:
        do_harm(rig, name)
    while True:
        plan = (rig.listen, request, RATE, RATE * SECONDS, next(numbers))
        found = child("benchmarks.pace", *plan)
        late = found["p99_ms"] > P99_MAX_MS
        yield RATE * SECONDS if late else RATE * SECONDS - found["answers"]
        if site.started(rig) >= wanted:
            return


def do_harm(rig: Rig, name: str) -> None:
    """Send what starts it, as often as it is refused."""
    answer = b""
    while not answer.startswith(b"HTTP/1.1 200"):
        with connect(rig.listen) as link:
            link.sendall(site.order(rig, name))
            answer = read_answer(link)
