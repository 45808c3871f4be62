"""
`python -m tests.shapes make FOLDER`: catalogues and shapes from what senders publish.

`measure` says what `check` has against a condition on every path of every published payload;
`paths` keeps some of these conditions for `test_real_paths.py`.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import click

from tests.shapes.published import FILES, written
from tests.shapes.real import findings, kept, wanted
from tests.shapes.senders import MADE, REAL, SOURCES


def main() -> int:
    held = "\n".join(f"  {name}: {what}" for name, what in SOURCES.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"FOLDER holds\n{held}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["make", "measure", "paths"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("senders", nargs="*", metavar="SENDER")
    given = parser.parse_args()
    all_of_them = list(MADE if given.what == "make" else REAL)
    senders = given.senders or all_of_them
    wrong = [_RUN[given.what](sender, given.folder) for sender in senders]
    return int(any(wrong))


def _make(sender: str, folder: Path) -> bool:
    made = MADE[sender](folder)
    text = written(made)
    FILES.mkdir(exist_ok=True)
    (FILES / f"{sender}.json").write_text(text, "utf-8")
    click.echo(
        f"{sender}: {len(made.events)} events, {len(made.payloads)} shapes, {len(text):,} bytes"
    )
    return False


def _measure(sender: str, folder: Path) -> bool:
    asked = wanted(REAL[sender](folder))
    found = findings(sender, asked)
    total = sum(len(each) for each in asked.values())
    parts = ", ".join(f"{len(each)} {severity}s" for severity, each in found.items())
    click.echo(f"{sender}: {len(asked)} events, {total:,} conditions: {parts}")
    for severity, each in found.items():
        for code, count in Counter(code for code, _ in each).most_common():
            click.echo(f"  {severity} {code}: {count}, as {next(t for c, t in each if c == code)}")
    return bool(found["error"])


def _paths(sender: str, folder: Path) -> bool:
    kept(sender, wanted(REAL[sender](folder)))
    return False


_RUN = {"make": _make, "measure": _measure, "paths": _paths}

if __name__ == "__main__":
    sys.exit(main())
