"""
One endpoint's harm is not its neighbour's: with every hostile target, command and plugin at work
at once, each delivery of another endpoint is answered 200.

How late an answer may be is bounded widely here: on a busy machine, and beside plugins that burn
every core, a millisecond is no promise. `python -m benchmarks hostile` holds each of them alone to
50 ms; `tests.hostile.turns` holds what each takes of the loop to 50 ms of processor time.
"""

import itertools
from pathlib import Path

from benchmarks import pushes
from benchmarks.bench import child
from benchmarks.pace import connect, read_answer
from tests.hostile import site

RATE = 200
SECONDS = 2
P99_MAX_MS = 2_500
"""What a sender is promised in all."""
PATIENT = "  limits: {answer: 30s}\n"
"""A machine that stands still for seconds is no fault of the router; a loop that does is."""


def test_every_delivery_of_a_neighbour_is_answered(tmp_path: Path) -> None:
    with site.targets() as urls:
        every = site.actions(urls)
        rig = site.a_rig(tmp_path / "router", every, PATIENT)
        with rig.router() as router, connect(rig.listen) as link:
            for name in every:
                link.sendall(site.order(rig, name))
                assert read_answer(link).startswith(b"HTTP/1.1 200"), name
            request = pushes.write_request(rig.listen, rig.folder / "push.http")
            for number in itertools.count():
                plan = (rig.listen, request, RATE, RATE * SECONDS, number)
                found = child("benchmarks.pace", *plan)
                assert (found["answers"], found["not_200"]) == (RATE * SECONDS, 0)
                assert found["p99_ms"] < P99_MAX_MS
                if site.started(rig) == len(every):
                    break
            assert router.stop() == 0, "in order, which ends whatever still runs"
