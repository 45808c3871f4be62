"""What a ruleset needs of its machine, for nodes to compare: fingerprints and digests by name."""

import hashlib
import hmac
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from router.kinds.http import HttpSpec
from router.kinds.python import PythonSpec
from router.kinds.shell import ShellSpec
from router.plugin_host.finding import FOLDER
from router.rules.ruleset import Ruleset
from router.store.values import Local

FINGERPRINT_BYTES = 2
"""
They show a difference, all but one in 65,536. Who reads the ledger reads the key as well and can
try values, but finds so many that fit that none is proved, however easily the secret is guessed.
"""
DIGEST_BYTES = 8
_INTERPRETER = re.compile(r"(?:ba|da|k|z)?sh|python[0-9.]*|bun|deno|node|perl|php|ruby")


def local_parts(ruleset: Ruleset, values: Mapping[str, bytes], key: bytes) -> Local:
    """
    By `secrets.NAME`, for each that has a value; by `plugins/NAME`, and by the path of each script
    that is there, `./` for those beside the rules.
    """
    marks = {
        name: hmac.digest(key, value, "sha256")[:FINGERPRINT_BYTES].hex()
        for name, value in values.items()
    }
    found: dict[str, tuple[str, ...]] = {f"secrets.{n}": (mark,) for n, mark in marks.items()}
    for names in _lists(ruleset):
        for name in marks.keys() & {*names}:
            found[f"secrets.{name}"] += tuple(marks[n] for n in names if n in marks and n != name)
    return found | {name: (_digest(files),) for name, files in _files(ruleset) if files}


def _specs(ruleset: Ruleset) -> Iterator[object]:
    return (action.spec for rule in ruleset.rules for action in rule.actions)


def _lists(ruleset: Ruleset) -> Iterator[tuple[str, ...]]:
    """Secrets that stand together, for one to take the place of another."""
    for endpoint in ruleset.endpoints.values():
        yield endpoint.secrets
    for spec in _specs(ruleset):
        if isinstance(spec, HttpSpec) and spec.sign is not None:
            yield spec.sign.secrets


def _files(ruleset: Ruleset) -> Iterator[tuple[str, list[Path]]]:
    """Each plugin with its files, if any plugin is called, and the script of each command."""
    folder, specs = Path(ruleset.folder), list(_specs(ruleset))
    if any(isinstance(spec, PythonSpec) for spec in specs):
        for place in (folder / FOLDER).glob("*"):
            files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
            yield f"{FOLDER}/{place.name}", [file for file in files if file.suffix == ".py"]
    for spec in specs:
        if isinstance(spec, ShellSpec) and (word := _script(spec)):
            file = Path(os.path.normpath(Path(spec.cwd, word)))
            inside = file.is_relative_to(folder)
            yield f"./{file.relative_to(folder)}" if inside else str(file), [file]


def _script(spec: ShellSpec) -> str:
    """What a command runs by a relative path, perhaps by an interpreter; else "": the machine's."""
    words = ["" if t.expressions else t.text for t in spec.argv or ()] or [*spec.interpreter]
    if _INTERPRETER.fullmatch(words[0].rpartition("/")[2]):
        found = next((word for word in words[1:] if not word.startswith("-")), "")
    else:
        found = words[0] if "/" in words[0] else ""
    is_here = not found.startswith("/") and os.path.isfile(os.path.join(spec.cwd, found))  # noqa: PTH113, PTH118 - never raises
    return found if is_here else ""


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        try:
            digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
        except OSError as error:
            digest.update(f"{file.name}: {error.errno}".encode())
    return digest.digest()[:DIGEST_BYTES].hex()
