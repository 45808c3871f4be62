"""
`include:`, and tests in files of their own: several files read as if they were one.

Their texts are joined behind the rules file's, so that every fault knows the file it is in.
"""

import glob
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from router.config.cases import with_cases
from router.config.files import TESTS, Files, UnreadableError, decode_text, is_tests, outside
from router.config.schema import FileEntry
from router.config.trial_schema import TestsEntry
from router.errors import ConfigError
from router.suggest import Suggester
from router.yaml_source import (
    Bounds,
    Decoder,
    Node,
    Report,
    Source,
    SourceText,
    Table,
    keys_of,
    read,
    shift,
    shown,
)

FILES_MAX = 1_000
_MAIN_ONLY = ("server", "include")
_OWN = frozenset({"version", *_MAIN_ONLY})
_CALLED = {"vars": "variable", "define": "definition", "retries": "retry policy"}


class IncludedFile(msgspec.Struct, frozen=True):
    """Another file: what it is decoded as, its text, and its nodes if it is YAML."""

    name: str
    kind: type[FileEntry] | type[TestsEntry]
    source: Source
    node: Node | None


class Including:
    """Reads and merges the other files of one load."""

    def __init__(self, decoder: Decoder, files: Files, bounds: Bounds, suggest: Suggester) -> None:
        self._decoder = decoder
        self._suggest = suggest
        self._report = decoder.report
        self._files = files
        self._bounds = bounds

    def merge(self, file: FileEntry, *, tests: bool) -> dict[str, str] | None:
        """
        Put into `file` what the files that it includes say, and with `tests` also the files of
        tests that lie beside them.

        Gives the included texts by name; None if some file cannot be read, which is reported.
        """
        names = self._included(file)
        parts = [self._part(name, FileEntry, at) for name, at in names.items()]
        if tests:
            own = PurePosixPath(self._report.source.path).name
            beside = (PurePosixPath(name) for name in (own, *names))
            named = (path.with_name(f"{path.stem}{TESTS}{path.suffix}") for path in beside)
            patterns = (glob.escape(str(path)) for path in named)  # NAME.test.yaml, if it is there
            parts += [self._part(n, TestsEntry) for p in patterns for n in self._files.fitting(p)]
        found = [part for part in parts if part is not None]
        if self._taken(file, found) < len(parts):
            return None
        return {part.name: part.source.text for part in found if part.kind is FileEntry}

    def _taken(self, file: FileEntry, parts: list[IncludedFile]) -> int:
        """Put what these parts say into the file; gives how many could be read."""
        if not parts:
            return 0
        begins = self._report.source.join([part.source for part in parts])
        taken = 0
        for part, begin in zip(parts, begins, strict=True):
            if part.node is not None:
                shift(part.node, begin)
                node = with_cases(part.node, self._report, self._suggest) or part.node
                if (entry := self._decoder.decode(node, part.kind)) is not None:
                    self._take(file, entry)
                    taken += 1
        return taken

    # -- which files ----------------------------------------------------------------------------

    def _included(self, file: FileEntry) -> dict[str, SourceText]:
        """The names of the files to include, and the pattern that each fits first."""
        own = PurePosixPath(self._report.source.path).name
        found: dict[str, SourceText] = {}
        for pattern in file.include or ():
            if (fault := outside(pattern.value)) is not None:
                self._error("bad-include", fault, pattern.node, "for example 'rules/*.yaml'")
                continue
            names = [n for n in self._files.fitting(pattern.value) if n != own and not is_tests(n)]
            if not names:
                self._nothing(pattern)
            for name in names:
                found.setdefault(name, pattern)
        if len(found) > FILES_MAX:
            self._error(
                "too-big",
                f"more than {FILES_MAX} files are included",
                list(found.values())[FILES_MAX].node,
            )
        return dict(list(found.items())[:FILES_MAX])

    def _nothing(self, pattern: SourceText) -> None:
        if glob.has_magic(pattern.value):
            start, end = pattern.node.start, pattern.node.end
            message = f"no file fits '{pattern.shown}'"
            self._report.warning("includes-nothing", message, start, end)
        else:
            message = f"there is no file '{pattern.shown}' to include"
            self._error("bad-include", message, pattern.node, "relative to the rules file")

    # -- what they say --------------------------------------------------------------------------

    def _part(
        self, name: str, kind: type[FileEntry] | type[TestsEntry], at: SourceText | None = None
    ) -> IncludedFile | None:
        path = str(Path(self._report.source.path).parent / name)
        try:
            text = decode_text(self._files.read(name), path=path)
        except ConfigError as error:
            self._report.found += error.diagnostics
            self._report.failed = True
            return None
        except UnreadableError as reason:
            start, end = (at.node.start, at.node.end) if at is not None else (0, 1)
            self._report.error("bad-include", f"cannot read '{name}': {reason}", start, end)
            return None
        report = Report(Source(text, path))
        node = read(report, bounds=self._bounds)
        self._report.take(report)
        return IncludedFile(name, kind, report.source, node)

    def _take(self, file: FileEntry, entry: FileEntry | TestsEntry) -> None:
        if None not in (entry.version, file.version) and entry.version != file.version:
            self._error(
                "unknown-version",
                f"expected 'version: {file.version}' as in the rules file",
                entry.at("version"),
            )
        for name in filter(entry.has, _MAIN_ONLY if isinstance(entry, FileEntry) else ()):
            self._error(
                "bad-include",
                f"'{name}' stands in the rules file itself, not in an included one",
                entry.key_at(name),
            )
        for name in (key.field for key in keys_of(type(entry)) if key.name not in _OWN):
            theirs = getattr(entry, name)
            if (mine := getattr(file, name)) is None:
                setattr(file, name, theirs)
            elif isinstance(theirs, Table):
                self._merge_table(mine, theirs, name)
            elif theirs is not None:
                mine += theirs
        file.broken |= entry.broken - {"version"}

    def _merge_table(self, mine: Table[Any], theirs: Table[Any], section: str) -> None:
        what = _CALLED.get(section, section.removesuffix("s"))
        for name, (text, value) in theirs.items.items():
            first = mine.items.setdefault(name, (text, value))[0]
            if first is not text:
                where = self._report.source.where(first.node.start, text.node.start)
                self._error(
                    "duplicate-name", f"the {what} '{shown(name)}' is taken by {where}", text.node
                )

    def _error(self, code: str, message: str, at: Node, hint: str | None = None) -> None:
        self._report.error(code, message, at.start, at.end, hint)
