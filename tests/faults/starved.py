"""
No memory, no descriptors, no processes, no time: what a router does that is given too little.

    python -m tests.faults.starved                  all of it, some minutes
    python -m tests.faults.starved memory files     some of it

    start      its address space is limited (RLIMIT_AS) to a row of sizes before it starts: it
               starts or ends in words; the next start with enough finds all that was acknowledged
    memory     the limit is put on it while it runs and large deliveries come: each is taken, or
               503, or its connection ends; nobody waits longer than 7 s; without the limit it goes
               on, or it has ended in words and the next start does
    files      it may open no more files (RLIMIT_NOFILE) and many connections come: it does not
               spin, a shell job that cannot start is tried again, all is well when they leave;
               a rules file changed meanwhile is read then, and nothing false is said of it
    processes  it may start no more processes (a cgroup of its own, where one can be made): the same
    paused     SIGSTOP under load for longer than its deadlines, then SIGCONT: nothing is lost,
               stored twice or left behind; a second router does not take over its store meanwhile
"""

import argparse
import os
import random
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from tests import ledger
from tests.acceptance.process import RouterDied, RouterProcess, TookTooLong
from tests.acceptance.senders import code
from tests.faults.life import ANSWER_S, Answer, Life, a_life, exchange, wait_for, write_plugin
from tests.faults.paused import paused
from tests.faults.telling import reported, say, verdict
from tests.faults.wanting import Tally, note, pid, tracebacks, wrong_end

MIB = 1024 * 1024
STARTS_MIB = (40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 250, 300, 400)
ROOMS_MIB = (0, 1, 4, 16, 40, 80, 160)
SIZES = (600, 600, 2_000_000, 9_000_000, 20_000_000, 600)
"""Bodies that come at once, several times over."""
AT_ONCE = 12
START_S = 20.0
BACK_S = 10.0
FILES_OVER, CROWD = 12, 150
SPIN_S, SPIN_MOST = 2.0, 0.5
"""Idle connections may cost half a processor at most while no descriptor is left."""
LIMITED = (
    "import os, resource, sys\n"
    "most = int(sys.argv[1])\n"
    "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)
PIDS = Path("/sys/fs/cgroup/pids")


# -- starts ------------------------------------------------------------------------------------


def starts(folder: Path, tally: Tally, *, sizes: Sequence[int] = STARTS_MIB) -> None:
    """One limit after another, on a store that holds something."""
    with a_life(folder) as life:
        with life.rig.router() as router:
            life.send()
            life.finish(router, "before")
        for size in reported(sizes, "start"):
            one_start(life, size, tally)
        with life.rig.router() as router:
            life.settle(router, "after all starts")
        tally.problems += life.problems


def one_start(life: Life, size: int, tally: Tally) -> None:
    """It serves, or it ends; with words as soon as it has read its own first line."""
    rig = life.rig
    tracer = (sys.executable, "-c", LIMITED, str(size * MIB))
    router = RouterProcess(rig.path, rig.listen, rig.admin, rig.environ, tracer=tracer)
    router.log.unlink(missing_ok=True)
    router.launch()
    try:
        if not wait_for(lambda: not router.running or router.ready(), START_S):
            tally.problems.append(f"{size} MiB: neither starts nor ends")
        tally.started += router.running
        if router.running:
            note(life.send(), tally, f"{size} MiB")
            router.stop()
        else:
            tally.refused += 1
            tally.problems += [f"{size} MiB: {one}" for one in wrong_end(router, tally)]
    finally:
        if router.running:
            router.kill()


# -- memory ------------------------------------------------------------------------------------


def virtual(router: RouterProcess) -> int:
    """Bytes of address space in use."""
    pages = Path(f"/proc/{pid(router)}/statm").read_text("ascii").split()[0]
    return int(pages) * resource.getpagesize()


@contextmanager
def little_room(router: RouterProcess, room: int) -> Iterator[None]:
    """So many more bytes of address space and no more."""
    most = virtual(router) + room
    resource.prlimit(pid(router), resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        if router.running:
            free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(pid(router), resource.RLIMIT_AS, free)


class Mixed(Life):
    """Deliveries of many sizes; each number has its own."""

    def send(self, number: int | None = None) -> Answer:
        """One delivery; timed from its first byte on."""
        if number is None:
            self.number += 1
            number = self.number
        self.unknown.add(number)
        size = SIZES[number % len(SIZES)]
        request = Life(self.rig, size=size).request(number)
        began = time.monotonic()
        try:
            answer = exchange(self.rig.listen, request, began)
        except ValueError:  # the web server's own last word is no JSON
            answer = Answer(500, seconds=time.monotonic() - began)
        if answer.status == 200:
            self.unknown.discard(number)
            self.acked[answer.delivery] = ledger.digest(code().body(number, size))
        return answer


def memory(folder: Path, tally: Tally, *, rooms: Sequence[int] = ROOMS_MIB) -> None:
    """One amount of room after another, each on what the last one left."""
    with a_life(folder) as plain:
        life = Mixed(plain.rig)
        router = life.start()
        try:
            for room in reported(rooms, "memory"):
                if not tally.problems:
                    router = one_room(life, router, room, tally)
        finally:
            router.kill()
        tally.problems += life.problems


def one_room(life: Mixed, router: RouterProcess, room: int, tally: Tally) -> RouterProcess:
    where = f"{room} MiB of room"
    first = life.number + 1
    life.number += 2 * AT_ONCE
    with little_room(router, room * MIB), ThreadPoolExecutor(AT_ONCE) as pool:
        for answer in pool.map(life.send, range(first, life.number + 1)):
            note(answer, tally, where)
    if not wait_for(lambda: not router.running or life.send().status == 200, BACK_S):
        tally.problems.append(f"{where}: takes nothing for {BACK_S:.0f} s:\n{router.output()}")
    elif router.running:
        tally.problems += [f"{where}: {one}" for one in tracebacks(router)]
    if not router.running:
        tally.ended += 1
        tally.problems += [f"{where}: {one}" for one in wrong_end(router, tally)]
        router = life.start()
    if not tally.problems:
        life.settle(router, where)
    router.log.write_bytes(b"")
    return router


# -- descriptors -------------------------------------------------------------------------------


def processor_seconds(router: RouterProcess) -> float:
    """What it has used so far."""
    fields = Path(f"/proc/{pid(router)}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def few_files(router: RouterProcess) -> Iterator[int]:
    """A few more descriptors than it has open; how many that is."""
    most = router.open_files() + FILES_OVER
    former = resource.prlimit(pid(router), resource.RLIMIT_NOFILE)
    resource.prlimit(pid(router), resource.RLIMIT_NOFILE, (most, former[1]))
    try:
        yield most
    finally:
        if router.running:
            resource.prlimit(pid(router), resource.RLIMIT_NOFILE, former)


def files(folder: Path, tally: Tally) -> None:
    """Connections until no descriptor is left, and a delivery on one that was there before."""
    with a_life(folder) as life, life.rig.router() as router:
        write_plugin(life.rig.folder)  # a folder more that is looked at
        wait_for(lambda: said("reloaded", router) > 0, BACK_S)
        life.send()
        life.finish(router, "before")
        kept = socket.create_connection(("127.0.0.1", router.listen))
        with kept, few_files(router) as most, ExitStack() as crowd:
            for _ in range(CROWD):
                crowd.enter_context(stranger(router.listen))
            wait_for(lambda: router.open_files() >= most, BACK_S)
            with life.rig.path.open("a") as rules:
                rules.write("# more\n")
            spins(router, tally)
            starving(life, kept, router, tally)
        began = time.monotonic()
        if not wait_for(lambda: life.send().status == 200, BACK_S):
            tally.problems.append("files: takes nothing when the crowd has left")
        tally.figures.append(f"back {time.monotonic() - began:.2f} s after the crowd left")
        life.settle(router, "files")
        tally.problems += life.problems
        if not wait_for(lambda: said("reloaded", router) > 1, BACK_S):
            tally.problems.append("files: the rules that were changed meanwhile are not read")
        if said("reload failed", router) or not said("cannot be looked at now", router):
            tally.problems.append(f"files: wrong words of the rules\n{router.output()}")
        tally.problems += [f"files: {one}" for one in tracebacks(router)]


def said(words: str, router: RouterProcess) -> int:
    """How many lines of its log have these words."""
    return router.log.read_text("utf-8", "replace").count(words)


def stranger(port: int) -> socket.socket:
    """A connection that says nothing; the system accepts it, whatever the router does."""
    link = socket.socket()
    link.settimeout(1)
    with suppress(OSError):  # the queue is full
        link.connect(("127.0.0.1", port))
    return link


def spins(router: RouterProcess, tally: Tally) -> None:
    """Nobody can be accepted: that must not keep a processor busy."""
    before, began = processor_seconds(router), time.monotonic()
    time.sleep(SPIN_S)
    share = (processor_seconds(router) - before) / (time.monotonic() - began)
    tally.figures.append(f"{share:.0%} of a processor while no descriptor is left")
    if share > SPIN_MOST:
        tally.problems.append(f"files: uses {share:.0%} of a processor")


def starving(life: Life, kept: socket.socket, router: RouterProcess, tally: Tally) -> None:
    """Its own work has no descriptors either: jobs fail and are tried again."""
    life.number += 1
    kept.settimeout(ANSWER_S)
    request = life.request(life.number).replace(b"connection: close\r\n", b"")
    life.unknown.add(life.number)
    try:
        kept.sendall(request)
        said = kept.recv(65_536)
    except OSError as error:
        tally.problems.append(f"files: a kept connection: {error!r}")
        return
    if not said.startswith((b"HTTP/1.1 200", b"HTTP/1.1 503")):
        tally.problems.append(f"files: a kept connection hears {said[:60]!r}")
    if not wait_for(lambda: reasons(life.rig.store), ANSWER_S):
        tally.problems.append(f"files: no attempt failed\n{router.output()}")
    tally.figures.append(f"without descriptors: {', '.join(reasons(life.rig.store))}")


def reasons(store: Path) -> list[str]:
    """Why attempts failed."""
    with closing(ledger.connect(store)) as db:
        rows = db.execute("SELECT DISTINCT reason FROM attempts WHERE reason IS NOT NULL")
        return [str(row[0]) for row in rows]


# -- processes ---------------------------------------------------------------------------------


@contextmanager
def no_more_processes(router: RouterProcess) -> Iterator[None]:
    """It may start none, by a cgroup of its own."""
    group = PIDS / f"router-starved-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(pid(router)))
        (group / "pids.max").write_text((group / "pids.current").read_text())
        yield
    finally:
        (group / "pids.max").write_text("max")
        if router.running:
            (PIDS / "cgroup.procs").write_text(str(pid(router)))
        wait_for(lambda: removed(group), BACK_S)


def removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return False
    return True


def limits_processes() -> bool:
    """Whether this machine lets us make such a group."""
    return os.access(PIDS, os.W_OK) and (PIDS / "cgroup.procs").exists()


def processes(folder: Path, tally: Tally) -> None:
    """A shell job that cannot be started is tried again."""
    if not limits_processes():
        tally.figures.append("no cgroup for processes here: passed over")
        return
    with a_life(folder) as life, life.rig.router() as router:
        life.send()
        life.finish(router, "before")
        with no_more_processes(router):
            note(life.send(), tally, "processes")
            if not wait_for(lambda: reasons(life.rig.store), ANSWER_S):
                tally.problems.append("processes: no attempt failed")
        tally.figures.append(f"without processes: {', '.join(reasons(life.rig.store))}")
        life.settle(router, "processes")
        tally.problems += life.problems


PARTS: dict[str, Callable[[Path, Tally], None]] = {
    "start": starts,
    "memory": memory,
    "files": files,
    "processes": processes,
    "paused": paused,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="part")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    say(f"seed {options.seed} (nothing here is drawn)")
    problems = []
    for name in options.parts or PARTS:
        tally, began = Tally(), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                PARTS[name](Path(folder), tally)
            except (RouterDied, TookTooLong) as error:
                tally.problems.append(str(error))
        say(f"{name}: {tally}; {time.monotonic() - began:.0f} s")
        problems += tally.problems
    return verdict(problems, f"{len(problems)} problems in all")


if __name__ == "__main__":
    sys.exit(main())
