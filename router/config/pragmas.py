"""
`# check: ignore CODE[,CODE] REASON`: what somebody has looked at and means to keep.

A pragma stands behind what it is about, or alone on the line above. It reaches over all lines of a
text that begins there, for inside a block or folded text no comment can stand.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from router.config.codes import CODES
from router.errors import Diagnostic
from router.suggest import did_you_mean
from router.yaml_source import Node, Report, Scalar, Source, shown, walk

_PRAGMA = re.compile(r"#[ \t]*check:[ \t]*ignore\b[ \t]*([^\r\n]*)")
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#")
_CODES = re.compile(r"[\w-]+(?:[ \t]*,[ \t]*[\w-]+)*")
_CODE = re.compile(r"[\w-]+")
_NOTHING_ELSE = re.compile(r"[ \t]*(?:#|$)")

Span = tuple[int, int]
Written = tuple[int, int, int]
"""A text: where it begins, where its content begins, where it ends."""


class Pragma(msgspec.Struct, eq=False):
    """One pragma: the codes it names with their places, and those that it has kept quiet."""

    codes: dict[str, Span]
    used: set[str] = set()


class Pragmas:
    """
    The pragmas of one load, by the lines that they are about.

    Reports those that are badly written at once; one that has no reason, and a code that may not
    be ignored, keep nothing quiet.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._source = report.source
        self._pragmas: list[Pragma] = []
        self._by_line: dict[tuple[str, int], list[Pragma]] = {}
        if written := list(_PRAGMA.finditer(self._source.text)):
            self._read(written)
            report.leave_out(self._silent)

    def _silent(self, diagnostic: Diagnostic) -> bool:
        """Whether a pragma keeps this quiet; it then counts as used."""
        for pragma in self._by_line.get((diagnostic.file, diagnostic.line), ()):
            if diagnostic.code in pragma.codes:
                pragma.used.add(diagnostic.code)
                return True
        return False

    def report_unused(self) -> None:
        """Report every code that was said nowhere near; only a load without errors can tell."""
        for pragma in self._pragmas:
            for code, span in pragma.codes.items():
                if code not in pragma.used:
                    self._report.warning(
                        "pragma-unused",
                        f"'{code}' is not said here, so there is nothing to ignore",
                        *span,
                        "take it out",
                    )

    def _read(self, written: list[re.Match[str]]) -> None:
        """Find the pragmas that are comments, and the lines that each is about."""
        source = self._source
        about = {source.line_number(m.start()): _about(source, m.start()) for m in written}
        texts = _on_lines(self._report, {*about, *about.values()})
        for match in written:
            line = source.line_number(match.start())
            if match.start() != _comment_start(source, line, texts):
                continue
            if (pragma := self._pragma(match)) is not None:
                self._pragmas.append(pragma)
                for start in source.starts[
                    about[line] - 1 : _last_line(source, about[line], texts)
                ]:
                    place = (source.path_at(start), source.position(start)[0])
                    self._by_line.setdefault(place, []).append(pragma)

    def _pragma(self, match: re.Match[str]) -> Pragma | None:
        named = _CODES.match(self._source.text, match.start(1), match.end(1))
        whole = (match.start(), match.end())
        if named is None:
            self._bad("this pragma names no code", whole, "write # check: ignore CODE REASON")
            return None
        codes = {m[0]: m.span() for m in _CODE.finditer(self._source.text, *named.span())}
        if not self._source.text[named.end() : match.end(1)].strip():
            hint = "say behind the code why this is meant"
            self._bad("this pragma gives no reason", whole, hint)
            return None
        return Pragma({code: span for code, span in codes.items() if self._allowed(code, span)})

    def _allowed(self, code: str, span: Span) -> bool:
        if (known := CODES.get(code)) is None:
            hint = did_you_mean(code, CODES) or "a reason goes behind the codes"
            self._bad(f"there is no code '{shown(code)}'", span, hint)
        elif not known.ignorable:
            self._bad(f"'{code}' cannot be ignored: the file could not be used", span)
        return known is not None and known.ignorable

    def _bad(self, message: str, span: Span, hint: str | None = None) -> None:
        self._report.warning("pragma-bad", message, *span, hint)


# -- where things are, lines counted from 1 through all files


def _about(source: Source, offset: int) -> int:
    """The line that a comment at this offset is about: its own, or the next that is not comment."""
    line = source.line_number(offset)
    start, _ = source.span(line)
    if source.text[start:offset].strip(" \t"):
        return line
    while line < len(source.starts):
        line += 1
        start, end = source.span(line)
        if not _NOTHING_ELSE.match(source.text[start:end].rstrip("\r\n")):
            return line
    return line


def _on_lines(report: Report, lines: Iterable[int]) -> list[Written]:
    """The texts that touch one of these lines, in the order of the file."""
    source = report.source
    starts, ends = zip(*(source.span(line) for line in sorted(lines)), strict=True)

    def touches(node: Node) -> bool:
        before = bisect_right(starts, node.end) - 1  # the last line that begins before it ends
        return before >= 0 and ends[before] > node.start

    texts = (node for node in walk(report.documents) if isinstance(node, Scalar))
    return sorted({_written(source, text) for text in texts if touches(text)})


def _written(source: Source, scalar: Scalar) -> Written:
    """Behind the sign of a block text a comment may stand; below it everything is text."""
    if scalar.style not in ("|", ">"):
        return scalar.start, scalar.start, scalar.end
    return (
        scalar.start,
        min(source.span(source.line_number(scalar.start))[1], scalar.end),
        scalar.end,
    )


def _comment_start(source: Source, line: int, texts: list[Written]) -> int | None:
    """Where the comment of a line begins: the first ` #` that is inside no text."""
    start, end = source.span(line)
    signs = (start + match.start() for match in _COMMENT.finditer(source.text[start:end]))
    return next(
        (at for at in signs if not any(first <= at < last for _, first, last in texts)), None
    )


def _last_line(source: Source, line: int, texts: list[Written]) -> int:
    """A line, or the last one of a text that begins on it."""
    start, end = source.span(line)
    ends = (max(first, stop - 1) for first, _, stop in texts if start <= first < end)
    return max((source.line_number(at) for at in ends), default=line)
