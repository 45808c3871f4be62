"""`shapes/ENDPOINT.yaml`: what `router shapes learn` has learned, read beside the rules file."""

from pathlib import Path
from typing import Any

from router.config.context import LoadContext
from router.config.files import FolderFiles, UnreadableError, decode_text
from router.errors import ConfigError
from router.typing.learned import LearnedShapes, ShapesAsSeen, parse_learned
from router.typing.shapes import ShapeError, Shapes
from router.yaml_source import Node, Report, Scalar, Source, node_at, read
from router.yaml_source import Sequence as SequenceNode

FOLDER = "shapes"


class LearnedFiles:
    """
    The learned shapes of the endpoints of one load, each file read when it is first asked for.

    Only a thorough load reports what is wrong with a file: a router that serves needs none.
    """

    def __init__(self, context: LoadContext) -> None:
        self._context = context
        files = context.files if isinstance(context.files, FolderFiles) else None
        self._files = files
        self._there = frozenset(files.fitting(f"{FOLDER}/*.yaml") if files else ())
        self._read: dict[str, LearnedShapes | None] = {}
        self._over: dict[tuple[Shapes, tuple[str, ...]], Shapes] = {}

    def over(self, known: Shapes, endpoints: tuple[str, ...]) -> Shapes:
        """The shapes of a sender, and what these endpoints of it have learned."""
        if not self._there:
            return known
        key = (known, endpoints)
        if key not in self._over:
            found = [one for name in endpoints if (one := self._of(name)) is not None]
            whole, typed = len(found) == len(endpoints), self._context.thorough
            seen = ShapesAsSeen(known, found, whole=whole, typed=typed) if found else known
            self._over[key] = seen
        return self._over[key]

    def _of(self, endpoint: str) -> LearnedShapes | None:
        name = f"{FOLDER}/{endpoint}.yaml"
        if name not in self._there or self._files is None:
            return None
        if name not in self._read:
            path = str(Path(self._context.report.source.path).parent / name)
            report, self._read[name] = read_learned(self._files, name, path)
            if self._context.thorough:
                self._context.report.found += report.found
                self._context.report.failed |= report.failed
        return self._read[name]


def read_learned(files: FolderFiles, name: str, path: str) -> tuple[Report, LearnedShapes | None]:
    """The file of this name, called `path` in what is reported; None if it is wrong."""
    report = Report(Source("", path))
    try:
        report = Report(Source(decode_text(files.read(name), path=path), path))
    except ConfigError as error:
        report.found += error.diagnostics
        report.failed = True
        return report, None
    except UnreadableError as reason:
        report.error("bad-shapes", f"cannot read this file: {reason}", 0, 1)
        return report, None
    node = read(report)
    if node is None or report.failed:
        return report, None
    data = _plain(node)
    try:
        return report, parse_learned(data)
    except ShapeError as error:
        said = str(error).replace("`shapes.", "`")
        at = node_at(node, error.place, of_key=error.of_key)
        hint = error.hint or "`router shapes learn` writes it"
        report.error("bad-shapes", said, at.start, at.end, hint)
        return report, None


def _plain(node: Node) -> Any:
    """A document whose scalars are all texts."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, SequenceNode):
        return [_plain(item) for item in node.items]
    return {key.value: _plain(value) for key, value in node}
