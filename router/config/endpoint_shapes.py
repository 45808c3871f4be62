"""`shapes/ENDPOINT.yaml` beside the rules file: payload fields that the sender's shapes lack."""

from functools import reduce
from pathlib import Path
from typing import Any

from router.config.context import LoadContext
from router.config.files import FolderFiles, UnreadableError, decode_text
from router.errors import ConfigError
from router.typing.lattice import Type, join
from router.typing.overlay import overlaid
from router.typing.shapes import ShapeError, Shapes, parse_shapes
from router.yaml_source import Node, Report, Scalar, Sequence, Source, node_at, read

_FOLDER = "shapes"
_BOOLEANS = ("true", "false")


class ShapeFiles:
    """
    The shape files of the endpoints of one load, each read when it is first asked for.

    Only `check` reports what is wrong with a file: a router that serves needs none.
    """

    def __init__(self, context: LoadContext) -> None:
        self._context = context
        files = context.files if isinstance(context.files, FolderFiles) else None
        self._files = files
        self._there = frozenset(files.fitting(f"{_FOLDER}/*.yaml") if files else ())
        self._read: dict[str, Shapes | None] = {}
        self._over: dict[tuple[Shapes, tuple[str, ...]], Shapes] = {}

    def over(self, known: Shapes, endpoints: tuple[str, ...]) -> Shapes:
        """The shapes of a sender, and over them those of these endpoints of it."""
        if not self._there:
            return known
        key = (known, endpoints)
        if key not in self._over:
            found = [self._of(name) for name in endpoints]
            self._over[key] = _BothShapes(found, known) if any(found) else known
        return self._over[key]

    def _of(self, endpoint: str) -> Shapes | None:
        name = f"{_FOLDER}/{endpoint}.yaml"
        if name not in self._there or self._files is None:
            return None
        if name not in self._read:
            path = str(Path(self._context.report.source.path).parent / name)
            report, self._read[name] = _parsed(self._files, name, path)
            if self._context.thorough and self._context.tested:
                self._context.report.found += report.found
                self._context.report.failed |= report.failed
        return self._read[name]


class _BothShapes(Shapes):
    """What is written of each endpoint, over what is known of their sender. None: no file."""

    def __init__(self, written: list[Shapes | None], known: Shapes) -> None:
        super().__init__(())
        self._of_endpoints = written
        self._known = known

    def _payload(self, event: str) -> Type | None:
        known = self._known.payload(event)
        each = [one and one.payload(event) for one in self._of_endpoints]
        kinds = [overlaid(one, known) if one and known else one or known for one in each]
        sure = [kind for kind in kinds if kind]
        return reduce(join, sure) if len(sure) == len(kinds) else None


def _parsed(files: FolderFiles, name: str, path: str) -> tuple[Report, Shapes | None]:
    """The shapes of this file, called `path` in diagnostics; None if it is wrong."""
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
    try:
        return report, parse_shapes(_plain(node))
    except ShapeError as error:
        said = str(error).replace("`shapes.", "`")
        at = node_at(node, error.place, of_key=error.of_key)
        report.error("bad-shapes", said, at.start, at.end, error.hint)
        return report, None


def _plain(node: Node) -> Any:
    """The document's data. `null` and numbers stay texts: shapes have names and booleans only."""
    if isinstance(node, Scalar):
        return node.value == "true" if node.value in _BOOLEANS and not node.style else node.value
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return {key.value: _plain(value) for key, value in node}
