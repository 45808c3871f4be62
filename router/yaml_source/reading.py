"""
YAML events to nodes, bounded while they arrive.

Nodes are built from the event stream rather than composed: composing recurses, and the C
composer dies on deep nesting before anybody can count.
"""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec
import yaml

from router.legible import cut
from router.yaml_source.nodes import Mapping, Node, Scalar, Sequence, walk
from router.yaml_source.refusals import explain, quoting, tag_fault, template_as_key
from router.yaml_source.scalars import NumberError, resolve
from router.yaml_source.source import Report

BYTES_MAX = 16 * 1024 * 1024
DEPTH_MAX = 64
NODES_MAX = 2_000_000
ALIASES_MAX = 100
NO_MEMORY = "there is not enough memory to read this file"

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ANCHOR = re.compile(r"&\S+\s*(?:#[^\r\n]*\s*)*")
"""An anchor, and what may stand between it and its value."""


class Bounds(msgspec.Struct):
    """What the files of one load have used, together, of what they may."""

    size: int = 0
    nodes: int = 0
    aliases: int = 0


class _StoppedError(Exception):
    """Reading cannot go on; the fault has been reported."""


def read(report: Report, loader: Any = None, bounds: Bounds | None = None) -> Node | None:
    """
    The document of the report's source as nodes, or None if it cannot be read at all.

    Faults that leave a readable rest (a tag, a key that stands twice) are reported and reading
    goes on. `loader` is a PyYAML loader class, by default the fastest there is; `bounds` what files
    read before have used of the bounds that hold for all of them together.
    """
    text = report.source.text
    bounds = bounds or Bounds()
    together = "the files together are" if bounds.size else "the file is"
    plain = text.isascii() or len(text) > BYTES_MAX
    bounds.size += len(text) if plain else len(text.encode("utf-8", "surrogatepass"))
    if bounds.size > BYTES_MAX:
        report.error("too-big", f"{together} larger than 16 MiB", 0, 1)
        return None
    if lone := _SURROGATE.search(text):
        report.error("unreadable-text", "this is half a character", *lone.span())
        return None
    builder, full = _Builder(report, bounds), False
    events = yaml.parse(text, Loader=loader or _Loader)  # named: it is closed when there is room
    try:
        handlers = builder.handlers
        for event in events:
            if (take := handlers.get(type(event))) is not None:
                take(event)
    except _StoppedError:
        return None
    except yaml.YAMLError as error:
        explain(error, report)
        return None
    except MemoryError:
        full = True
    if full:  # here the fault is forgotten, and with it who held on to the nodes
        builder.forget()
        report.error("too-big", NO_MEMORY, 0, 1)
        return None
    if builder.root is None and not report.failed:
        report.error("empty-file", "the file is empty; expected at least 'version: 1'", 0, 1)
    if builder.root is not None:
        report.documents.append(builder.root)
    return builder.root


class _Frame(msgspec.Struct, eq=False):
    """A list or mapping that is being filled; `size` and `height` count aliases in full."""

    node: Sequence | Mapping
    anchor: str | None
    flow: bool  # written with brackets or braces
    key: Scalar | None = None
    size: int = 1
    height: int = 1
    template: str | None = None


class _Builder:
    """Takes events, each by the handler of its type, and keeps the stack of what is open."""

    def __init__(self, report: Report, bounds: Bounds) -> None:
        self.report = report
        self.root: Node | None = None
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Node, int, int]] = {}
        self._bounds = bounds
        self._documents = 0
        self._plain_keys: set[str] = set()
        """Keys without quotes that were found to be texts: the same few stand in every rule."""
        self.handlers = {
            yaml.ScalarEvent: self._scalar,
            yaml.SequenceStartEvent: self._open,
            yaml.MappingStartEvent: self._open,
            yaml.SequenceEndEvent: self._close,
            yaml.MappingEndEvent: self._close,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop(
                "second-document",
                "a second document starts here; a rules file is one document",
                event.start_mark.index,
            )

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        value, style = event.value, event.style or ""
        if event.tag is not None:
            meant = tag_fault(self.report, event)
            value, style = (value, style) if meant is None else (meant, "'")
        elif event.anchor is not None:  # an empty value stands where its anchor does
            found = _ANCHOR.match(self.report.source.text, start, end)
            start = start if found is None or found.end() == end else found.end()
        if style == "" and "?" in value and self._stack and self._stack[-1].flow:
            # PyYAML's own parser refuses what its C parser takes: a file must be right on both.
            self.report.error(
                "needs-quotes",
                "not every YAML parser takes a '?' here without quotes around the text",
                start,
                end,
                quoting(value),
            )
        node = Scalar(value, style, start, end)
        self._count(1)
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, 1, 0)
        self._place(node, 1, 0)

    def forget(self) -> None:
        """Let go of all that was read: there is no room for it."""
        self.root = None
        self._stack.clear()
        self._anchors.clear()

    def _open(self, event: Any) -> None:
        kind = Sequence if isinstance(event, yaml.SequenceStartEvent) else Mapping
        node = kind(event.start_mark.index, event.start_mark.index + 1)
        if event.tag is not None:
            tag_fault(self.report, event)
        if len(self._stack) >= DEPTH_MAX:
            self._stop("too-big", f"nested deeper than {DEPTH_MAX} levels", node.start)
        self._count(1)
        self._refuse_as_key(node.start)
        self._stack.append(_Frame(node, event.anchor, event.flow_style))
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        frame.node.end = event.end_mark.index
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.node, frame.size, frame.height)
        node: Node = frame.node
        if frame.template is not None:  # meant where YAML saw a mapping in the place of a key
            node = Scalar(frame.template, "'", node.start, node.end)
        self._place(node, frame.size, frame.height)

    def _alias(self, event: Any) -> None:
        self._bounds.aliases += 1
        start, end = event.start_mark.index, event.end_mark.index
        if self._bounds.aliases > ALIASES_MAX:
            self._stop("too-big", f"more than {ALIASES_MAX} aliases", start)
        if (known := self._anchors.get(event.anchor)) is None:
            if any(frame.anchor == event.anchor for frame in self._stack):
                inside = f"alias '*{event.anchor}' stands inside its own anchor"
                self._stop("bad-alias", inside, start, end)
            self._stop(
                "bad-alias",
                f"no anchor '&{event.anchor}' comes before this alias",
                start,
                end,
                "if a literal '*' is meant, quote the text",
            )
        node, size, height = known
        if len(self._stack) + height > DEPTH_MAX:
            self._stop("too-big", f"nested deeper than {DEPTH_MAX} levels by this alias", start)
        self._count(size)
        if not isinstance(node, Scalar):
            self._refuse_as_key(start)
        self._place(node, size, height)

    def _place(self, node: Node, size: int, height: int) -> None:
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        frame.size += size
        if height >= frame.height:
            frame.height = height + 1
        parent = frame.node
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif frame.key is None:
            frame.key = self._checked_key(node)
        else:
            self._pair(parent, frame.key, node)
            frame.key = None

    def _pair(self, parent: Mapping, key: Scalar, value: Node) -> None:
        first = parent.entries.setdefault(key.value, (key, value))[0]
        if first is not key and not self.report.full:
            line, _ = self.report.source.position(first.start)
            self.report.error(
                "duplicate-key",
                f"key '{shown(key.value)}' stands twice in this mapping, first in line {line}",
                key.start,
                key.end,
            )

    def _checked_key(self, node: Node) -> Scalar:
        if not isinstance(node, Scalar):
            # Reported when it was opened; a key nobody can have written keeps the pairs in step.
            return Scalar(f"\0{node.start}", "", node.start, node.end)
        if node.style == "" and node.value not in self._plain_keys:
            self._check_plain_key(node)
        return node

    def _check_plain_key(self, key: Scalar) -> None:
        if key.value == "<<":
            self.report.error(
                "merge-key", "merge keys ('<<') are not supported", key.start, key.end
            )
            return
        try:
            text = isinstance(resolve(key.value), str)
        except NumberError:
            text = False
        if text:
            self._plain_keys.add(key.value)
        else:
            shown_key = shown(key.value)
            self.report.error(
                "key-not-text",
                f"a key must be text, but {shown_key or 'nothing'} is not",
                key.start,
                max(key.end, key.start + 1),
                f'write "{shown_key}"' if shown_key else None,
            )

    def _refuse_as_key(self, start: int) -> None:
        if not self._stack:
            return
        frame = self._stack[-1]
        if isinstance(frame.node, Mapping) and frame.key is None:
            frame.template = template_as_key(self.report, start) or frame.template

    def _count(self, nodes: int) -> None:
        self._bounds.nodes += nodes
        if self._bounds.nodes > NODES_MAX:
            self._stop("too-big", "more than 2,000,000 nodes, aliases counted in full", 0)

    def _stop(
        self, code: str, message: str, start: int, end: int | None = None, hint: str | None = None
    ) -> NoReturn:
        self.report.error(code, message, start, start + 1 if end is None else end, hint)
        raise _StoppedError


def shown(text: str, limit: int = 60) -> str:
    """A text as messages may show it: one line, bounded, printable."""
    return "".join(c if c.isprintable() else "·" for c in cut(text, limit))


def shift(node: Node, by: int) -> None:
    """Move every offset of a document: its text now stands that far into a longer one."""
    for each in walk([node]):
        each.start += by
        each.end += by


def scalars(node: Node) -> Iterator[Scalar]:
    """Every scalar value below a node, in the order of the file."""
    pending: list[Node] = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, Scalar):
            yield current
        elif isinstance(current, Sequence):
            pending.extend(reversed(current.items))
        else:
            pending.extend(value for _, value in reversed(list(current)))
