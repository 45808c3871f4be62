"""
What the image, CI and a build are made of: names, versions and hashes, for every platform.

The files are written by `python -m tests.release lock` and hold no address: they are good for any
index that has the same packages.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release.environments import run

ROOT = Path(__file__).parents[2]
PROJECT: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
IMAGE = "deploy/requirements.lock"
BUILD = "deploy/build.lock"
CI = ".ci/requirements.lock"
EXTRAS: Mapping[str, tuple[str, ...]] = {
    IMAGE: ("jwt", "postgres", "otel"),
    CI: ("test", "dev", "browser", "docs", "manifests", "clients"),
}


def wanted(lock: str) -> list[Requirement]:
    """What pyproject.toml asks for of what a lock pins."""
    if lock == BUILD:
        return [Requirement(text) for text in PROJECT["build-system"]["requires"]]
    project = PROJECT["project"]
    texts = [*project["dependencies"]]
    for extra in EXTRAS[lock]:
        texts += project["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


def pinned(lock: str) -> dict[str, Requirement]:
    """The packages of a lock by name, each with its version and where it is needed."""
    lines = (ROOT / lock).read_text("utf-8").splitlines()
    pins = [Requirement(line.removesuffix("\\")) for line in lines if line[:1].isalnum()]
    return {canonicalize_name(pin.name): pin for pin in pins}


def renew(uv: Path) -> None:
    """Write them all, with the newest versions that fit; CI gets those of the image."""
    for lock in (IMAGE, BUILD, CI):
        command = [
            *(uv, "--quiet", "pip", "compile", "-", "--output-file", lock, "--upgrade"),
            *("--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate"),
            *("--custom-compile-command", "python -m tests.release lock"),
            *(("--constraint", IMAGE) if lock == CI else ()),
        ]
        run(command, ROOT, text="\n".join(map(str, wanted(lock))))
