"""A commit's sdist and wheel, built in a clone of its own; and what must be in them."""

import hashlib
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.release.environments import Environment, run
from tests.release.locks import ROOT

IN_SDIST = {
    *("router", "docs", "deploy", "plugins", "rules.example.yaml", "pyproject.toml", "PKG-INFO"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", ".gitignore"),
}
IN_WHEEL = (
    "router/pages/action-kind.md",
    "router/providers/definitions/code-host.yaml",
    "router/store/sqlite/schema.sql",
    "router/store/postgres/schema.sql",
)


class Built(NamedTuple):
    """The two files of a release."""

    sdist: Path
    wheel: Path


def commit() -> str:
    """That of this clone: what is not committed is in no release."""
    return run(["git", "rev-parse", "HEAD"], ROOT).strip()


def built(tools: Environment, clone: Path, *how: str) -> Built:
    """
    Clone the commit into `clone` and build it there; `--sdist --wheel`: both of the clone.
    Without, as `python -m build` does by itself: the wheel of the sdist.
    """
    run(["git", "clone", "-q", "--no-hardlinks", ROOT, clone], ROOT)
    run(["git", "checkout", "-q", "--detach", commit()], clone)
    run([tools.python, "-m", "build", "--no-isolation", *how], clone)
    dist = clone / "dist"
    [sdist], [wheel] = dist.glob("*.tar.gz"), dist.glob("*.whl")
    return Built(sdist, wheel)


def differences(one: Built, other: Built) -> Iterator[str]:
    """Two builds of one commit are the same, name and byte."""
    for ours, theirs in zip(one, other, strict=True):
        if (ours.name, digest(ours)) != (theirs.name, digest(theirs)):
            yield f"{ours.name} and {theirs.name} are not the same bytes"


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def misplaced(files: Built, of: str) -> Iterator[str]:
    """What is in the files that should not be, and what is missing; a release is in the log."""
    version = files.wheel.name.split("-")[1]
    if "dev" not in version and f"\n## {version}\n" not in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md has no {version}"
    with tarfile.open(files.sdist) as archive:
        top = {name.split("/")[1] for name in archive.getnames()}
    yield from (f"the sdist has {name}, or lacks it" for name in sorted(top ^ IN_SDIST))
    with zipfile.ZipFile(files.wheel) as archive:
        names = archive.namelist()
        if of not in archive.read("router/_version.py").decode():
            yield f"the wheel does not know its commit, {of}"
    for name in names:
        if not name.startswith("router/") and ".dist-info/" not in name:
            yield f"the wheel has {name}"
    yield from (f"the wheel lacks {name}" for name in IN_WHEEL if name not in names)
