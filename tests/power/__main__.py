"""
Measure how many random bugs of a package the tests catch.

    python -m tests.power dispatch                            60 bugs of router/dispatch
    python -m tests.power store --without tests/unit/store    what the other tests catch of them
    python -m tests.power all --write                         every package; keep it in ledger.json
    python -m tests.power all --check                         1 if an area is worse than at first

`top` is router/*.py. The bugs are drawn by chance from the code as it is: a comparison turned or
off by one, and for or, a negated branch, a filter left out, a number plus one, a flipped bool, plus
for minus, a call or a += left out, None returned. All lie in one copy of the project, each behind a
switch. The default tests run once. Then tests that reach a bug run again with it on, until one
fails or hangs. With --rows a run that was stopped goes on where it was.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.conftest import MEMORY, has_room
from tests.faults.telling import say
from tests.power.ledger import AREAS, Rate, areas, fallen, in_no_area, read, write
from tests.power.sites import Site, copied, drawn, packages

ROOT = Path(__file__).parents[2]
PYTEST = (
    *("-m", "pytest", "-q", "-n0", "-m", "not long", "--tb=line", "--no-header"),
    *("-p", "no:cacheprovider", "-p", "power_plugin", "--hypothesis-seed=0"),
)
Row = dict[str, Any]
"""What became of a bug: `bug`, `caught_by` (a test, or ""), `tries`, `reached_by` (how many)."""


def settled(
    options: argparse.Namespace, bugs: Sequence[Site], left: Sequence[int]
) -> Iterator[Row]:
    """Settle the bugs that are left in a copy of the project; gives each as it is settled."""
    with tempfile.TemporaryDirectory(
        prefix="power-", dir=MEMORY if has_room(MEMORY) else None, ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        (folder / "settled").touch()
        running = [started(folder, worker, options, bugs, left) for worker in range(options.jobs)]
        try:
            with (folder / "settled").open() as file:
                while any(one.poll() is None for one in running):
                    time.sleep(0.5)
                    yield from map(json.loads, file)
                    for worker, one in enumerate(running):
                        if one.poll() and not (folder / f"reach.{worker}").exists():
                            raise SystemExit((folder / f"log.{worker}").read_text()[-3000:])
                yield from map(json.loads, file)
        finally:
            for one in running:
                if one.poll() is None:
                    os.killpg(one.pid, signal.SIGKILL)
                one.wait()


def started(
    folder: Path,
    worker: int,
    options: argparse.Namespace,
    bugs: Sequence[Site],
    left: Sequence[int],
) -> subprocess.Popen[bytes]:
    """Start one of the processes that run the tests, with a copy of its own."""
    own = folder / str(worker)
    copied(options.root, own / "tree", bugs)
    # An environment of its own: a process that gets no PYTHONPATH imports the copy, too.
    venv.create(own / "venv", symlinks=True)
    [packages_] = (own / "venv").glob("lib/python*/site-packages")
    places = [str(own / "tree"), *(path for path in sys.path if path.endswith("-packages"))]
    (packages_ / "copy.pth").write_text("\n".join(places))
    task = {"folder": str(folder), "worker": worker, "workers": options.jobs, "bugs": left}
    task |= {"seed": options.seed, "tries": options.tries}
    (own / "task").write_text(json.dumps(task))
    unset = ("PYTEST_", "PYTHONPATH", "COV_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(unset)}
    ignored = [f"--ignore={path}" for path in options.without]
    with (folder / f"log.{worker}").open("w") as log:
        return subprocess.Popen(
            [own / "venv/bin/python", *PYTEST, f"--basetemp={own / 't'}", *ignored],
            cwd=own / "tree",
            env=kept | {"POWER_TASK": str(own / "task")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def measured(options: argparse.Namespace, chosen: Sequence[str]) -> dict[str, Rate]:
    """Settle the bugs of these packages, and say what became of each."""
    each = [drawn(options.root, name, options.sites, options.seed) for name in chosen]
    # The first of each package, then the second: what is stopped early has as many of all.
    bugs = [site for some in zip_longest(*each) for site in some if site is not None]
    kept = options.rows.read_text() if options.rows and options.rows.exists() else ""
    rows = {row["bug"]: row for row in map(json.loads, kept.splitlines()) if row["bug"] < len(bugs)}
    if any(row["what"] != str(bugs[bug]) for bug, row in rows.items()):
        raise SystemExit(f"{options.rows} holds other bugs")
    left = [bug for bug in range(len(bugs)) if bug not in rows]
    began = time.monotonic()
    for row in settled(options, bugs, left) if left else ():
        row["what"] = str(bugs[row["bug"]])
        rows[row["bug"]] = row
        if options.rows:
            with options.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
        became = row["caught_by"] or f"NOT CAUGHT by {row['tries']} of {row['reached_by']} tests"
        took = f"{time.monotonic() - began:.0f} s"
        say(f"{len(rows)} of {len(bugs)}, {took}: {row['what']}: {became}")
    git = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(git, cwd=options.root, check=True, capture_output=True, text=True)
    rest = (options.seed, options.tries, commit.stdout.strip())
    rates = {}
    for name in chosen:
        mine = [row for bug, row in rows.items() if bugs[bug].package == name]
        caught, reached = (sum(bool(row[k]) for row in mine) for k in ("caught_by", "reached_by"))
        rates[name] = Rate(caught, len(mine), len(mine) - reached, *rest)
    return rates


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.power",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="of router/; top; all")
    parser.add_argument("--without", action="append", default=[], metavar="PATH", help="tests")
    parser.add_argument("--sites", type=int, default=60, help="bugs of each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tries", type=int, default=300, help="the most tests tried for a bug")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--root", type=Path, default=ROOT, help="another git work tree")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="settled bugs, kept and read")
    parser.add_argument("--write", action="store_true", help="keep the rates in the ledger")
    parser.add_argument("--check", action="store_true", help="compare them with the first ones")
    options = parser.parse_args()
    if options.write and options.without:
        parser.error("the ledger holds what all tests catch: --write or --without")
    there = packages(options.root)
    chosen = there if options.packages == ["all"] else options.packages
    unknown = set(chosen) - set(there) | in_no_area(chosen)
    if unknown:
        parser.error(f"no package of router/, or in no area of {AREAS}: {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the copy and its processes go as well
    rates = measured(options, chosen)
    for name, rate in rates.items():
        say(f"{name}: {rate.caught} of {rate.drawn} caught; no test reaches {rate.unreached}")
    if options.write:
        write(rates)
    first, latest = read()
    now = {name: rate for name, rate in (latest | rates).items() if name in there}
    say(*(f"{area}: {caught} of {of}" for area, (caught, of) in areas(now).items()))
    worse = fallen(now, first) if options.check else []
    say(*worse)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
