"""
What it costs to let a request in, and to send a call out, way by way.

Told as processor time of the router and of every process that it started, for that moves least
with who else is on the machine. Their goals are ratios to an older commit (`baseline`).
"""

import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import backlog, memory, peers, pushes
from benchmarks.bench import CONNECTIONS, Bench, WrongFigures, agree, answered
from benchmarks.cost import TICKS, pid
from benchmarks.dispatching import rules
from benchmarks.figures import Row
from benchmarks.pace import connect, read_answer
from benchmarks.settled import settle
from benchmarks.wrk import Load, load
from tests import ledger
from tests.acceptance.process import Rig, RouterProcess
from tests.certificates import Authority, pem, server_side

LARGE = 100_000
IDLE, SHORT_IDLE = 5_000, 500
"""Connections that are open and say nothing; fewer in a run that is not worth its name."""
WORTH_S = 3
CHUNK = 700
PATIENT = "  limits: {keep_alive: 5m}\n"
"""They stay while thousands of them come and are measured."""

Change = Callable[[bytes], bytes]


def ways(bench: Bench) -> Iterator[Row]:
    """In: pushes one way after another, a router and a store for each; then who only waits."""
    plain, large = pushes.body(), memory.bodies_of(LARGE)
    yield pushed(bench, "usual push", plain, bytes)
    yield pushed(bench, "chunked push", plain, chunked)
    yield pushed(bench, "push of 100 kB", large, bytes)
    yield pushed(bench, "push, a connection each", plain, closing)
    yield nowhere(bench)
    yield from waiting(bench)
    yield from memory.large(bench)


def calls(bench: Bench) -> Iterator[Row]:
    """Out: jobs that wait in the ledger, for a target that stays or closes after each answer."""
    root = Authority()
    (bench.folder / "ca.pem").write_bytes(pem(root.certificate))
    server_side(bench.folder, *root.certify("127.0.0.1"))
    certificate = str(bench.folder / "server.pem")
    yield called(bench, "http job")
    yield called(bench, "https job", certificate)
    yield called(bench, "https job, a connection each", certificate, "close")


# -- in ------------------------------------------------------------------------------------------


def pushed(bench: Bench, name: str, content: bytes, change: Change) -> Row:
    """Processor time of one push, its job included; the first ones are not counted."""
    rig = bench.rig(slug(name), pushes.rules(20))
    request = rig.folder / "push.http"
    request.write_bytes(change(pushes.request(rig.listen, content=content)))
    with rig.router() as router:
        loaded(bench, rig, 1, request)
        agree(rig, router, 0, slack=ledger.counts(rig.store).deliveries + CONNECTIONS)
        before, warm = tree_s(pid(router)), ledger.counts(rig.store).deliveries
        count = warm + answered([loaded(bench, rig, bench.seconds, request)])
        bench.notes.append(agree(rig, router, count, slack=CONNECTIONS))
        each = ledger.counts(rig.store).deliveries - warm
        taken = tree_s(pid(router)) - before
    return Row(f"processor time, {name}", taken / each * 1e6, "us/delivery")


def nowhere(bench: Bench) -> Row:
    """Processor time of a push to a path that is no endpoint's, of which nothing is kept."""
    rig = bench.rig("no-endpoint", pushes.rules(20))
    place = rig.folder / "push.http"
    request = pushes.write_request(rig.listen, place, pushes.PATH + "0")
    with rig.router() as router:
        loaded(bench, rig, 1, request)
        before = tree_s(pid(router))
        found = loaded(bench, rig, bench.seconds, request)
        taken = tree_s(pid(router)) - before
        if found.not_2xx != found.answers or found.broken or ledger.counts(rig.store).deliveries:
            raise WrongFigures(f"no endpoint, but not all were refused: {found}")
    return Row("processor time, POST to no endpoint", taken / found.answers * 1e6, "us each")


def waiting(bench: Bench) -> Iterator[Row]:
    """What a router holds for connections that have sent one push each and say no more."""
    rig, count = (
        bench.rig("idle", pushes.rules(20), PATIENT),
        IDLE if bench.seconds >= WORTH_S else SHORT_IDLE,
    )
    head, tail = pushes.request(rig.listen).split(pushes.SLOT, 1)
    push = pushes.write_request(rig.listen, rig.folder / "push.http")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with ExitStack() as stack:
        router = stack.enter_context(rig.router())
        loaded(bench, rig, 1, push)  # what is made only once
        agree(rig, router, 0, slack=ledger.counts(rig.store).deliveries + CONNECTIONS)
        bare, kept = held(router), ledger.counts(rig.store).deliveries
        links = []
        for number in range(count):  # who connects and says nothing is closed after seconds
            links.append(link := stack.enter_context(connect(rig.listen)))
            link.sendall(head + f"ffffffff-0000-4000-8000-{number:012x}".encode() + tail)
            if not read_answer(link).startswith(b"HTTP/1.1 200"):
                raise WrongFigures(f"connection {number} got no 200")
        agree(rig, router, kept + count)
        most = held(router)
        if gone := sum(is_closed(link) for link in links):
            raise WrongFigures(f"{gone} of {count} connections were closed meanwhile")
    yield Row(
        "memory of an idle connection", (most - bare) * memory.MIB / count, "bytes/connection"
    )
    yield Row(f"memory, {count:,} idle connections", most, "MiB")


def loaded(bench: Bench, rig: Rig, seconds: int, request: Path) -> Load:
    number = bench.number()
    settle(4.0 * bench.seconds)
    return load(rig.listen, request, number=number, seconds=seconds, connections=CONNECTIONS)


def chunked(request: bytes) -> bytes:
    """The same, its body in pieces without a length said before."""
    head, _, body = request.partition(b"\r\n\r\n")
    kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length:")]
    pieces = [body[at : at + CHUNK] for at in range(0, len(body), CHUNK)]
    parts = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"\r\n".join([*kept, b"transfer-encoding: chunked", b"", parts + b"0\r\n\r\n"])


def closing(request: bytes) -> bytes:
    """The same, over a connection that ends with its answer."""
    return request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)


def is_closed(link: socket.socket) -> bool:
    link.setblocking(False)
    try:
        return not link.recv(1)
    except BlockingIOError:
        return False


def held(router: RouterProcess) -> float:
    """MiB a moment later, when what was in passing is gone."""
    time.sleep(memory.CALM_S)
    return memory.held(router, "VmRSS")


# -- out -----------------------------------------------------------------------------------------


def called(bench: Bench, name: str, *sink: str) -> Row:
    """Processor time of one job, of many that become due at once when the router is up."""
    with peers.sink(bench.folder, *sink) as port:
        rig = bench.rig(slug(name), secured(rules(port), bench.folder) if sink else rules(port))
        with rig.router():
            settle(bench.seconds)  # what only a first start has to do is done then
        count = backlog.jobs(bench.seconds)
        bench.seed_jobs(rig, count)
        backlog.put_off(rig)
        with rig.router() as router:
            settle(bench.seconds)
            backlog.none_yet(rig)
            before = tree_s(pid(router))
            bench.notes.append(agree(rig, router, count))
            taken = tree_s(pid(router)) - before
    return Row(f"processor time, {name}", taken / count * 1e6, "us/job")


def secured(text: str, folder: Path) -> str:
    """The same rules, their target over TLS with an authority of its own."""
    tls = f", tls: {{ca: '{folder / 'ca.pem'}'}}, concurrency"
    return text.replace("http://", "https://").replace(", concurrency", tls)


# -- what is used --------------------------------------------------------------------------------


def tree_s(root: int) -> float:
    """Processor time of a process, its descendants that live, and all that it has waited for."""
    parents, ticks = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text("ascii", "replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # this one has just ended
        number = int(place.parent.name)
        parents[number], ticks[number] = int(fields[1]), sum(map(int, fields[11:15]))
    return sum(ticks[one] for one in ticks if root in ancestry(one, parents)) / TICKS


def ancestry(one: int, parents: dict[int, int]) -> Iterator[int]:
    """The process itself, its parent, and so on."""
    while one:
        yield one
        one = parents.get(one, 0)


def slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)
