"""Where the texts of a rules file and of the files beside it come from."""

import glob
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from router.errors import ConfigError
from router.yaml_source import Mapping as MappingNode
from router.yaml_source import Report, Scalar, Source, read
from router.yaml_source import Sequence as SequenceNode
from router.yaml_source.reading import BYTES_MAX

TESTS = ".test"
"""What stands before the suffix of a file of tests."""

_INCLUDE = re.compile(r"""include["']?\s*:""")

NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class UnreadableError(Exception):
    """A file cannot be had; the text says why."""


class FolderFiles:
    """
    The files as they lie in the rules file's folder now; names are relative to it, with `/`.
    `changed` are the texts of some as they may become, by their paths.
    """

    def __init__(self, folder: Path, changed: Mapping[str, str] = NO_TEXTS) -> None:
        self._folder = folder
        self._changed = changed

    def fitting(self, pattern: str) -> list[str]:
        """
        The names of the files that fit a pattern, sorted; hidden files fit only what begins with
        a dot itself.
        """
        found = glob.glob(pattern, root_dir=self._folder)  # noqa: PTH207 - Path's takes hidden ones
        named = {PurePosixPath(name).as_posix() for name in found}
        return sorted(name for name in named if (self._folder / name).is_file())

    def read(self, name: str) -> bytes:
        """
        A file's bytes.

        Raises:
            UnreadableError: it is not there, not ours to read, or behind a link that leads out of
                the folder.
        """
        path = self._folder / name
        try:
            if not path.resolve(strict=True).is_relative_to(self._folder.resolve()):
                raise UnreadableError("it is a link that leads out of the rules file's folder")
            if path.stat().st_size > BYTES_MAX:
                raise UnreadableError("it is larger than 16 MiB")
            changed = self._changed.get(str(path))
            return path.read_bytes() if changed is None else changed.encode("utf-8")
        except OSError as error:
            raise UnreadableError(error.strerror or "it cannot be read") from None


class KeptFiles:
    """The files of a generation, as the store has kept them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def fitting(self, pattern: str) -> list[str]:
        """The names of the files that fit a pattern, sorted."""
        wanted = PurePosixPath(pattern).parts
        each = ((name, PurePosixPath(name).parts) for name in self._texts)
        fit = (n for n, p in each if len(p) == len(wanted) and all(map(fnmatchcase, p, wanted)))
        return sorted(fit)

    def read(self, name: str) -> bytes:
        """
        A file's bytes.

        Raises:
            UnreadableError: it is not there.
        """
        try:
            return self._texts[name].encode("utf-8", "surrogatepass")
        except KeyError:
            raise UnreadableError("this generation has no such file") from None


Files = FolderFiles | KeptFiles
"""Where the other files of a load come from."""


def is_tests(name: str) -> bool:
    """Whether a file holds tests alone: NAME.test.yaml."""
    return PurePosixPath(name).stem.endswith(TESTS)


def outside(pattern: str) -> str | None:
    """Why a pattern is not one of files in the rules file's own folder, or None if it is."""
    if "\\" in pattern or "\0" in pattern:
        return "folders are parted by '/'"
    if pattern.startswith(("/", "~")):
        return "a path here is relative to the rules file"
    parts = pattern.split("/")
    if ".." in parts:
        return "only files in the rules file's folder and below it can be included"
    return "'**' is not supported: name each folder" if "**" in parts else None


def included_names(text: str, files: Files) -> list[str]:
    """The files that a rules file's `include` names, whatever else is wrong with its text."""
    names = (name for pattern in _patterns(text) for name in files.fitting(pattern))
    return [name for name in dict.fromkeys(names) if not is_tests(name)]


@lru_cache(maxsize=1)  # called every second for a file that changes once a week
def _patterns(text: str) -> tuple[str, ...]:
    if not _INCLUDE.search(text):
        return ()
    top = read(Report(Source(text, "")))
    found = top.get("include") if isinstance(top, MappingNode) else None
    nodes = found.items if isinstance(found, SequenceNode) else [found]
    patterns = (node.value for node in nodes if isinstance(node, Scalar))
    return tuple(pattern for pattern in patterns if outside(pattern) is None)


def decode_text(data: bytes, *, path: str) -> str:
    """
    The text of a rules file's bytes.

    Raises:
        ConfigError: the bytes are not UTF-8; the diagnostic points at the first wrong one.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02x} does not belong here"
        report = Report(Source(before + "\ufffd", path))
        report.error(
            "unreadable-text", message, len(report.source.text) - 1, len(report.source.text)
        )
        raise ConfigError(report.sorted()) from None
