"""From `module:function` to the function: the plugins folder, then entry points."""

import hashlib
import importlib
import os
import sys
from collections.abc import Callable
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

FOLDER = "plugins"
GROUP = "router.plugins"


class BadReference(Exception):
    """A call names no module or function; the text says which."""


class Loader(SourceFileLoader):
    """
    Compiles a plugin's source as it is now and remembers its SHA-256.

    No .pyc is read or written: one of the same second and size would be taken for the new text.
    """

    hashes: dict[str, str] = {}  # noqa: RUF012 - one table a process is meant

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        self.hashes[fullname] = hashlib.sha256(source).hexdigest()
        return self.source_to_code(source, path)


def open_folder(folder: str) -> None:
    """Let `import` find what lies in the plugins folder, after everything installed."""

    def finder(path: str) -> FileFinder:
        if path != folder and not path.startswith(folder + os.sep):
            raise ImportError("not of the plugins folder")
        return FileFinder(
            path, (ExtensionFileLoader, EXTENSION_SUFFIXES), (Loader, SOURCE_SUFFIXES)
        )

    sys.path_hooks.insert(0, finder)
    sys.path.append(folder)


def find(call: str, folder: str) -> tuple[Callable[..., Any], str]:
    """
    The function that `module:function` names, and the SHA-256 of its module's source.

    The module is one of the plugins folder, else an entry point of the group `router.plugins`; an
    entry point may also name the function itself, and is then called by its name alone.

    Raises:
        Wrong: there is none.
    """
    name, _, function = call.partition(":")
    if not _in_folder(name.partition(".")[0], folder):
        name, function = _entry_point(name, function)
    module = importlib.import_module(name)
    found: Any = module
    for part in function.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise BadReference(f"the module '{name}' has no function '{function}'")
    return found, Loader.hashes.get(name) or _hash_of(module)


def _in_folder(top: str, folder: str) -> bool:
    place = os.path.join(folder, top)  # noqa: PTH118 - asked before each call
    return os.path.isfile(f"{place}.py") or os.path.isdir(place)  # noqa: PTH112, PTH113


def _entry_point(name: str, function: str) -> tuple[str, str]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - 20 ms that most never pay

    for point in entry_points(group=GROUP, name=name):
        return point.module, function or point.attr
    raise BadReference(f"there is no plugin '{name}', neither in {FOLDER}/ nor installed")


def _hash_of(module: ModuleType) -> str:
    try:
        return hashlib.sha256(Path(module.__file__ or "").read_bytes()).hexdigest()
    except OSError:
        return ""
