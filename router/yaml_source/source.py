"""One file's text, and the report of everything that is wrong with it."""

import re
from bisect import bisect_right
from functools import cached_property

from router.errors import Diagnostic, Severity

REPORTED_MAX = 1_000
NEAR = 2_000
_BREAK = re.compile(r"\r\n|\n|\r")


class Source:
    """
    The text of one file, without its byte order mark, and the way from offsets to lines.

    Lines and columns start at 1 and count characters; lines end as editors see them.
    """

    def __init__(self, text: str, path: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.path = path
        self._last: tuple[int, str] = (0, "")

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        return [0, *(match.end() for match in _BREAK.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of the character at this offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its end; faults of one long line share one copy."""
        if self._last[0] != number:
            self._last = (number, self._cut(number))
        return self._last[1]

    def _cut(self, number: int) -> str:
        start = self.starts[number - 1]
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def line_at(self, offset: int) -> tuple[str, int]:
        """
        The line that holds this offset, and the offset at which that text begins.

        Of a very long line only what is near, so that a fault costs the same in any file.
        """
        number = bisect_right(self.starts, offset)
        start = max(self.starts[number - 1], offset - NEAR)
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[start : min(end, offset + NEAR)].rstrip("\r\n"), start


class Report:
    """
    Collects faults of one source; never stops anybody.

    Keeps the first `REPORTED_MAX`, so that a file of two million mistakes ends in time.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Diagnostic] = []
        self.failed = False

    @property
    def full(self) -> bool:
        """Nothing more will be kept, so nothing more need be worked out."""
        return len(self.found) >= REPORTED_MAX

    def error(self, code: str, message: str, start: int, end: int, hint: str | None = None) -> None:
        """Something that must be mended before the file can be used."""
        self.failed = True
        self._add("error", code, message, (start, end), hint)

    def warning(
        self, code: str, message: str, start: int, end: int, hint: str | None = None
    ) -> None:
        """Something that is probably not meant."""
        self._add("warning", code, message, (start, end), hint)

    def _add(
        self, severity: Severity, code: str, message: str, span: tuple[int, int], hint: str | None
    ) -> None:
        if self.full:
            return
        line, column = self.source.position(span[0])
        text = self.source.line(line)
        room = len(text) - column + 1
        width = max(1, min(span[1] - span[0], room))
        self.found.append(
            Diagnostic(
                code=code,
                message=message,
                file=self.source.path,
                line=line,
                column=column,
                width=width,
                severity=severity,
                hint=hint,
                source=text,
            )
        )

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Everything found, in the order of the file, each once."""
        unique = dict.fromkeys(self.found)
        return tuple(sorted(unique, key=lambda d: (d.line, d.column, d.code, d.message)))
