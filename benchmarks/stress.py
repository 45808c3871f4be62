"""
Answers at 200 a second while everything else goes on that a full store knows.

1,000,000 jobs wait for a target that does not answer, bodies of 25 MiB come one at a time, what
ended eight days ago is removed step by step, and the journal is checkpointed as it fills.
"""

import http.client
import json
import shutil
import socket
import struct
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import flood, memory, pushes, seed
from benchmarks.bench import Bench, WrongFigures, child
from benchmarks.figures import Row, at_most
from benchmarks.meanwhile import meanwhile
from benchmarks.rates import SHARES
from router.store.common.states import STATE
from tests import ledger
from tests.acceptance.process import Rig

OLD = 150_000
"""Deliveries whose jobs ended so long ago that they may go: more than are removed in the time."""
RATE = 200
BODY_BYTES = 4_096
SECONDS = 5
"""Times the seconds of other loads: one answer in a thousand is looked at."""
LEAST_S = 10
PAUSE_S = 1.0
"""From the answer to a large body to the first byte of the next one."""
READY_S = 60.0
PATIENCE_S = 60.0
CALM = "ack at 200/s, 1,000,000 jobs waiting"
BUSY = "ack at 200/s under stress"
GOALS = {"p50": None, "p99": 100, "p99.9": None, "worst": 2_500}
ENDED = "SELECT count(*) FROM jobs WHERE state = ?"


class Went(NamedTuple):
    """
    What the router did beside the answers; the loads as `pace` tells them. `large` bodies were
    taken, `late` ones put off by a deadline.
    """

    calm: dict[str, Any]
    busy: dict[str, Any]
    large: int
    late: int
    removed: int
    begun_anew: int


def stress(bench: Bench) -> list[Row]:
    """At first with nothing else going on, then with everything; the store is gone afterwards."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as silent:
        rig = full_rig(bench, silent.getsockname()[1])
        router = rig.router().launch()
        try:
            router.until(router.ready, "ready", seconds=READY_S)
            went = measured(bench, rig)
        finally:
            memory.ended(router)
    bench.notes.append(sound(rig, went))
    shutil.rmtree(rig.folder)
    return [
        *(Row(f"{CALM}, {share}", went.calm[SHARES[share]], "ms") for share in ("p50", "p99")),
        *(row(share, went.busy[SHARES[share]], goal) for share, goal in GOALS.items()),
        at_most("of these acks, 503", went.busy["not_200"], "deliveries", 0),
        Row("bodies of 25 MiB taken meanwhile", went.large, "deliveries"),
        Row("old deliveries removed meanwhile", went.removed, "deliveries"),
    ]


def row(share: str, figure: float, goal: int | None) -> Row:
    name = f"{BUSY}, {share}"
    return Row(name, figure, "ms") if goal is None else at_most(name, figure, "ms", goal)


def full_rig(bench: Bench, port: int) -> Rig:
    """A million jobs due now for a target at `port`, and what has long ended."""
    target = f"targets: {{sink: {{url: 'http://127.0.0.1:{port}', timeout: 5m}}}}\n"
    rules = target + pushes.rules(20, action="http: {target: sink, path: /in}")
    rig = bench.rig("stress", rules, server="  grace: 1s\n")
    bench.seed("jobs", rig, OLD + seed.MILLION)
    bench.seed("end", rig, OLD)
    return rig


def measured(bench: Bench, rig: Rig) -> Went:
    small = pushes.write_request(
        rig.listen, rig.folder / "push.http", content=pushes.body(BODY_BYTES)
    )
    large = Large(rig.listen, memory.bodies_of(memory.LARGEST), bench.number())
    listener = AdminListener(rig)
    count = RATE * max(LEAST_S, SECONDS * bench.seconds)
    calm = paced(bench, rig, small, count // 2)
    before = begun_anew(rig.store)
    with meanwhile(large.send) as bodies, meanwhile(listener.prune) as steps:
        busy = paced(bench, rig, small, count)
    again = begun_anew(rig.store) - before
    if set(bodies) - {"200", "503"}:
        raise WrongFigures(f"large bodies, one at a time, were answered {bodies}")
    if not sum(steps) or not again:
        raise WrongFigures(f"{sum(steps)} old deliveries removed, {again} checkpoints")
    return Went(calm, busy, bodies.count("200"), bodies.count("503"), sum(steps), again)


def paced(bench: Bench, rig: Rig, request: Path, count: int) -> dict[str, Any]:
    found = child("benchmarks.pace", rig.listen, request, RATE, count, bench.number())
    if found["answers"] + found["not_200"] != count or not found["answers"]:
        raise WrongFigures(f"beside a million jobs: {found}")
    return found


class Large:
    """Bodies of 25 MiB, each a delivery of its own."""

    def __init__(self, port: int, body: bytes, number: int) -> None:
        head, _, self.body = pushes.request(port, content=body).partition(b"\r\n\r\n")
        self.before, self.after = (head + b"\r\n\r\n").split(pushes.SLOT, 1)
        self.port, self.number = port, number

    def send(self, turn: int) -> str:
        name = f"{self.number:08x}-0000-4000-8000-{turn:012x}".encode()
        status = flood.send(self.port, self.before + name + self.after, memoryview(self.body))
        time.sleep(PAUSE_S)
        return status


class AdminListener:
    """The admin listener, as `router store prune` uses it."""

    def __init__(self, rig: Rig) -> None:
        self.port = rig.admin
        self.token = Path(f"{rig.store}.token").read_text("ascii").strip()

    def prune(self, _turn: int) -> int:
        """One bounded piece of retention; how many deliveries went."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with closing(link):
            link.request("POST", "/api/prune", "{}", headers)
            answer = link.getresponse()
            told = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise WrongFigures(f"pruning was answered {answer.status}: {told[:200]!r}")
        return int(json.loads(told)["deliveries"])


def begun_anew(store: Path) -> int:
    """How often the journal was begun anew, as its head says: after each whole checkpoint."""
    with Path(f"{store}-wal").open("rb") as journal:
        head = journal.read(16)
    return int(struct.unpack(">I", head[12:16])[0]) if len(head) == 16 else 0


def sound(rig: Rig, went: Went) -> str:
    """
    No waiting job has gone or ended, each answer of 200 is one more, only what ended long ago went.

    Raises:
        WrongFigures: the ledger says otherwise.
    """
    answers = went.calm["answers"] + went.busy["answers"] + went.large
    put_off = went.calm["not_200"] + went.busy["not_200"] + went.late  # they may be stored yet
    with closing(ledger.connect(rig.store)) as db:
        (open_jobs,) = db.execute(memory.OPEN_JOBS, memory.OPEN).fetchone()
        (ended,) = db.execute(ENDED, (STATE["succeeded"],)).fetchone()
    found = ledger.counts(rig.store)
    told = f"{open_jobs} jobs open, {ended} ended, {went.removed} removed, of {found}"
    more = open_jobs - seed.MILLION - answers
    if not 0 <= more <= put_off or ended > OLD - went.removed:
        raise WrongFigures(f"{seed.MILLION} waited and {answers} came on top: {told}")
    if not found.deliveries == found.jobs == open_jobs + ended:
        raise WrongFigures(f"each delivery has one job: {told}")
    return (
        f"{rig.folder.name}: {answers} answers of 200 beside {seed.MILLION} jobs, "
        f"{put_off} others; {told}; the journal was checkpointed whole {went.begun_anew} times; "
        f"the generator sent 99 % within {went.busy['late_p99_ms']} ms of due"
    )
