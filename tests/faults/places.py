"""
Files of the store that are missing, stale, foreign, cut short or not ours to write.

    python -m tests.faults.places

A store is left by SIGKILL; then its files are tampered with, and the router is started on them. It
starts with everything in its place, or ends at once, not with 0 and not with a traceback, and says
why. Where it may not start, no file but the lock is changed.
"""

import argparse
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig, RouterDied, RouterProcess, TookTooLong
from tests.acceptance.senders import environ
from tests.faults.life import PLAIN_RULES, Life
from tests.faults.telling import reported, say, verdict

DELIVERIES = 12
Tamper = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """What is done to the store's files, and what must come of it."""

    name: str
    tamper: Tamper
    says: str | None = None
    """A part of the refusal; None: it starts and nothing is lost."""
    undo: Tamper = lambda store: None


def beside(store: Path, suffix: str) -> Path:
    return Path(f"{store}{suffix}")


def stale_index(store: Path) -> None:
    beside(store, "-shm").write_bytes(random.Random(1).randbytes(32_768))


def cut(store: Path) -> None:
    """The database of a store whose journal is empty, cut in the middle of its tables."""
    with closing(ledger.connect(store, mend=True)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = store.read_bytes()
    store.write_bytes(content[: len(content) // 3])


def foreign(store: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        beside(store, suffix).unlink()
    with closing(sqlite3.connect(store)) as db:
        db.execute("CREATE TABLE theirs (n)")
        db.commit()


def text(store: Path) -> None:
    for suffix in ("-wal", "-shm"):
        beside(store, suffix).unlink()
    store.write_text("version: 1\n" * 1_000)


def damaged_head(store: Path) -> None:
    content = bytearray(beside(store, "-wal").read_bytes())
    content[17] ^= 1
    beside(store, "-wal").write_bytes(content)


def fixed(path: Path, flag: str) -> None:
    subprocess.run(["chattr", flag, str(path)], check=True, capture_output=True)


def closed_folder(store: Path) -> None:
    beside(store, ".lock").unlink()
    fixed(store.parent, "+i")


def swap_for_folder(store: Path) -> None:
    store.unlink()
    store.mkdir()


CASES = (
    Case("as it was left", lambda store: None),
    Case("the -shm file is gone", lambda store: beside(store, "-shm").unlink()),
    Case("the -shm file is of another time", stale_index),
    Case("the lock file is gone", lambda store: beside(store, ".lock").unlink()),
    Case("a folder of its name", swap_for_folder, "cannot be opened"),
    Case("the head of the journal is damaged", damaged_head, "restore a backup"),
    Case("the database is cut short", cut, "restore a backup"),
    Case("the database is a text file", text, "restore a backup"),
    Case("the database is another program's", foreign, "not a router's store"),
    Case(
        "the database may not be written",
        lambda store: fixed(store, "+i"),
        "cannot be opened for writing",
        lambda store: fixed(store, "-i"),
    ),
    Case(
        "the folder may not be written",
        closed_folder,
        "cannot be opened for writing",
        lambda store: fixed(store.parent, "-i"),
    ),
)


def left(folder: Path) -> Life:
    """A store that a killed router has left."""
    life = Life(Rig(folder, PLAIN_RULES, environ()))
    with life.rig.router() as router:
        for _ in range(DELIVERIES):
            assert life.send().status == 200
        router.kill()
    return life


def copied(life: Life, folder: Path) -> Life:
    """The same store in another folder."""
    shutil.copytree(life.rig.folder, folder)
    rig = replace(life.rig, folder=folder)
    return replace(life, rig=rig, acked=dict(life.acked))


@contextmanager
def tampered(case: Case, store: Path) -> Iterator[None]:
    case.tamper(store)
    try:
        yield
    finally:
        case.undo(store)


def problems_of(case: Case, life: Life) -> list[str]:
    """Start on what is there; what is wrong with the way it goes."""
    store = life.rig.store
    with tampered(case, store):
        before = contents(store)
        router = RouterProcess(
            life.rig.path, life.rig.listen, life.rig.admin, life.rig.environ
        ).launch()
        try:
            router.until(router.ready, "ready")
            started = True
        except (RouterDied, TookTooLong):
            started = False
        if started:
            found = lives_on(life, router) if case.says is None else ["it starts"]
        else:
            found = refuses(case, router)
            found += ["a file was changed"] if contents(store) != before else []
        if router.running:
            router.kill()
    return [f"{case.name}: {one}" for one in found]


def lives_on(life: Life, router: RouterProcess) -> list[str]:
    if life.send().status != 200:
        return ["takes no delivery"]
    return ledger.problems(life.rig.store, life.acked)


def refuses(case: Case, router: RouterProcess) -> list[str]:
    assert router.process is not None
    if router.running:
        return ["neither starts nor ends"]
    output, status = router.output(), router.process.returncode
    lines = output.splitlines()[-3:]
    found = [] if status > 0 else [f"ended with {status}"]
    if "Traceback" in output or "unexpected" in output:
        found.append(f"says {lines}")
    if case.says is None:
        return [*found, f"does not start: {lines}"]
    return found if case.says in output else [*found, f"says {lines}, not {case.says!r}"]


def contents(store: Path) -> dict[str, bytes]:
    """What holds data; the index and the lock are made anew at every start."""
    names = [store, beside(store, "-wal")]
    return {p.name: found for p in names if p.is_file() and (found := p.read_bytes())}


def two_servers(folder: Path) -> list[str]:
    """The second refuses, the first goes on; a lock that a killed one has left holds nobody."""
    life = Life(Rig(folder, PLAIN_RULES, environ()))
    other = Rig(folder / "other", PLAIN_RULES, environ())
    link = "store: sqlite:router.db"
    other.path.write_text(other.path.read_text().replace(link, f"store: sqlite:{life.rig.store}"))
    found = []
    with life.rig.router() as first:
        second = other.router().launch()
        if (
            second.ended(within=20) in (None, 0)
            or "in use by another router" not in second.output()
        ):
            found.append(f"two servers: the second says {second.output()[-300:]}")
        if second.running:
            second.kill()
        if life.send().status != 200:
            found.append("two servers: the first takes nothing more")
        first.kill()
    with other.router() as third:
        third.stop()
    return found


def campaign(folder: Path) -> tuple[list[str], list[str]]:
    """All cases; problems, and what could not be tried."""
    problems, skipped = two_servers(folder / "two"), []
    whole = left(folder / "left")
    for number, case in enumerate(reported(CASES, "cases")):
        life = copied(whole, folder / f"case-{number}")
        try:
            problems += problems_of(case, life)
        except (subprocess.CalledProcessError, FileNotFoundError):
            skipped.append(f"{case.name}: this user or file system cannot set that")
        shutil.rmtree(life.rig.folder)
    return problems, skipped


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    say(f"seed {options.seed} (nothing here is drawn)")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        problems, skipped = campaign(Path(name))
    say(*[f"passed over: {one}" for one in skipped])
    figures = f"{len(CASES) + 1} cases, {len(problems)} problems; {time.monotonic() - began:.0f} s"
    return verdict(problems, figures)


if __name__ == "__main__":
    sys.exit(main())
