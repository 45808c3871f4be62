"""
What a release is made of, and whether it is right.

    python -m tests.release                  build this commit, and try what was built
    python -m tests.release --keep FOLDER    the same, and keep it: wheel, sdist, SBOM, digests
    python -m tests.release --lock           renew the locks, to the newest versions that fit

Tried: two builds in two clones have the same bytes; both files hold what they should; each line of
docs/install.md works; the wheel on the locked packages, and the sdist on whatever the index gives,
each serve a signed delivery from an empty folder; the bill of materials names what is locked.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.faults.telling import say, verdict
from tests.release import bill, locks, page, smoke
from tests.release.building import Built, built, commit, differences, digest, misplaced
from tests.release.environments import TOOLS, Environment


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.release",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--lock", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = Environment(folder / "tools")
        tools.install("--require-hashes", "-r", locks.ROOT / locks.BUILD)
        tools.install(*TOOLS)
        if asked.lock:
            locks.renew(tools.bin / "uv")
            return 0
        files = built(tools, folder / "one")
        sbom = files.wheel.with_name("sbom.cdx.json")
        found = list(problems(tools, folder, files, sbom))
        if asked.keep and not found:
            kept([*files, sbom], asked.keep)
    return verdict(found, f"{len(found)} problems")


def problems(tools: Environment, folder: Path, files: Built, sbom: Path) -> Iterator[str]:
    """Everything that is wrong with what this commit became; writes the bill of materials."""
    number = version(files)
    say(f"built {number}")
    yield from differences(files, built(tools, folder / "elsewhere" / "two", "--sdist", "--wheel"))
    yield from misplaced(files, commit())
    say("tried: two builds, and what is in them")

    clone, home = files.wheel.parents[1], folder / "home"
    yield from page.faults(tools, clone, home, number)
    say("tried: what docs/install.md shows")

    locked, free = Environment(home / "locked"), Environment(folder / "free")
    free.install(files.sdist)
    yield from smoke.faults(locked, folder / "wheel", number)
    yield from smoke.faults(free, folder / "sdist", number)
    say("tried: the wheel on the locked packages, the sdist on what the index gives")

    bill.written(tools, locked, sbom)
    yield from bill.missing(sbom)
    say("tried: the bill of materials")


def version(files: Built) -> str:
    return files.wheel.name.split("-")[1]


def kept(files: list[Path], folder: Path) -> None:
    """With their digests beside them, as `sha256sum --check` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, folder)
    sums = "".join(f"{digest(file)}  {file.name}\n" for file in files)
    (folder / "SHA256SUMS").write_text(sums, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
