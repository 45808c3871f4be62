"""
The router beside other programs that turn webhooks into actions, each with an equal hook.

Equal: the same signed push, its signature checked, a condition on the branch, a cheap action. None
of the others stores a delivery or drops a duplicate. Before it is loaded each one must have taken
a good push and refused a badly signed one; afterwards its action must have run as often as it
answered.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from statistics import median

import msgspec

from benchmarks import nodered, peers, pushes, rulebook
from benchmarks.bench import CONNECTIONS, Bench, WrongFigures, agree, answered
from benchmarks.cost import used
from benchmarks.figures import Cost, Row, absent
from benchmarks.pace import connect, read_answer
from benchmarks.rows import in_turn, ratio
from benchmarks.wrk import Load
from tests import ledger

PATIENCE_S = 60.0
LOOK_S = 0.2


class Peer(msgspec.Struct, frozen=True):
    """`fired` says how often its action ran, by its folder and port; None: it cannot tell."""

    program: str
    label: str
    path: str
    serve: Callable[[Path], AbstractContextManager[int]]
    fired: Callable[[Path, int], int] | None = None


def _hook(folder: Path) -> AbstractContextManager[int]:
    folder.mkdir()
    return peers.hook(folder, waiting=False)


PEERS = (
    Peer(peers.HOOK, "adnanh/webhook", peers.HOOK_PATH, _hook),
    Peer(nodered.NAME, "Node-RED", nodered.PATH, nodered.serve, nodered.fired),
    Peer(rulebook.NAME, "ansible-rulebook", rulebook.PATH, rulebook.serve, rulebook.fired),
)


def beside(bench: Bench) -> list[Row]:
    """All that are installed, round by round; the router with one rule, as they have one."""
    here = [peer for peer in PEERS if peers.program(peer.program) is not None]
    rig = bench.rig("peers", pushes.rules(1))
    with ExitStack() as stack:
        router = stack.enter_context(rig.router())
        places = {"router": (rig.listen, pushes.PATH)}
        for peer in here:
            port = stack.enter_context(peer.serve(folder_of(bench, peer)))
            equal(bench, peer, port)
            places[peer.label] = (port, peer.path)
        before = used(router)
        loads = in_turn(bench, places, "peers")
        unread = CONNECTIONS * bench.rounds  # wrk hangs up on these at the end of each round
        bench.notes.append(agree(rig, router, answered(loads["router"]), slack=unread))
        cost = used(router).since(before).each(ledger.counts(rig.store).deliveries)
        for peer in here:
            bench.notes.append(ran(bench, peer, places[peer.label][0], loads[peer.label]))
    return rows(loads, cost)


def folder_of(bench: Bench, peer: Peer) -> Path:
    return bench.folder / f"peer-{peer.program}"


def equal(bench: Bench, peer: Peer, port: int) -> None:
    """
    Hold its hook to what it is said to do.

    Raises:
        WrongFigures: it does not take a good push, takes one with another signature, or its
            condition is not met by one to `main` alone.
    """
    good = pushes.request(port, peer.path)
    bad = good.replace(b"sha256=", b"sha256=0", 1)
    content = pushes.body().replace(b"refs/heads/main", b"refs/heads/side")
    wait(lambda: status(port, good) == "200", f"{peer.label} takes no good push")
    if (told := status(port, bad)) == "200":
        raise WrongFigures(f"{peer.label} takes a badly signed push")
    bench.notes.append(f"{peer.label}: 200 to a good push, {told} to a badly signed one")
    if (fired := peer.fired) is not None:
        status(port, pushes.request(port, peer.path, content))
        status(port, good)
        folder = folder_of(bench, peer)
        wait(lambda: fired(folder, port) >= 2, f"{peer.label} does not act")
        if fired(folder, port) != 2:
            raise WrongFigures(f"{peer.label} acts on a push to another branch")


def wait(true: Callable[[], bool], otherwise: str) -> None:
    """
    Its port may be open before its rules are there, and it may answer before it acts.

    Raises:
        WrongFigures: it is not so within the time that is left for it.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > deadline:
            raise WrongFigures(otherwise)
        time.sleep(LOOK_S)


def status(port: int, request: bytes) -> str:
    with closing(connect(port)) as link:
        link.sendall(request)
        return read_answer(link)[9:12].decode()


def ran(bench: Bench, peer: Peer, port: int, loads: list[Load]) -> str:
    """
    Wait until its action has run for every answer.

    Raises:
        WrongFigures: it has run less often.
    """
    count = sum(one.answers - one.not_2xx for one in loads)
    refused = sum(one.not_2xx + one.broken for one in loads)
    told = f"{peer.label}: {count} answers of 200, {refused} others"
    if peer.fired is None:
        return f"{told}; whether its commands ran it does not tell"
    place = folder_of(bench, peer), port
    fired = peer.fired
    wait(lambda: fired(*place) >= count, f"{told}, but its action ran less often")
    return f"{told}; its action ran {fired(*place)} times"


def rows(loads: dict[str, list[Load]], cost: Cost | None = None) -> list[Row]:
    ours = loads["router"]
    found = [Row("durable accept and run, one rule", rate(ours), "deliveries/s", cost=cost)]
    for peer in PEERS:
        name = f"{peer.label}, an equal hook"
        theirs = loads.get(peer.label)
        if theirs is None:
            found += [absent(name), absent(f"ratio to {peer.label}")]
            continue
        found.append(Row(name, rate(theirs), "deliveries/s", ours=False))
        found.append(Row(f"ratio to {peer.label}", ratio(ours, theirs), "x"))
    return found


def rate(loads: list[Load]) -> int:
    return round(median(one.rate for one in loads))
