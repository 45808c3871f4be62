"""The text of one file, or of several, and the report of everything that is wrong with it."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter

from router.errors import Diagnostic, Fix, Severity
from router.suggest import FixHint, Span
from router.yaml_source.credentials import without_secrets
from router.yaml_source.nodes import Node

REPORTED_MAX = 1_000
NEAR = 2_000
_BREAK = re.compile(r"\r\n|\n|\r")


class Source:
    """
    The text of one file, without its byte order mark, and the way from offsets to lines.

    Texts of further files may be joined behind it: offsets then go on through all of them, and
    each offset knows its file. Lines and columns start at 1 in each file and count characters;
    lines end as editors see them.
    """

    def __init__(self, text: str, path: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.path = path
        self._begins = [0]
        self._paths = [path]
        self._last: tuple[int, str] = (0, "")
        self.hidden: list[Span] = []

    def hide(self, start: int, end: int) -> None:
        """From now on these characters are not shown: they are somebody's secret."""
        self.hidden.append((start, end))
        self._last = (0, "")

    def join(self, others: "Sequence[Source]") -> list[int]:
        """Put the texts of other files behind this one; gives the offset at which each begins."""
        begins, at = [], len(self.text) + 1
        for other in others:
            begins.append(at)
            self.hidden += [(start + at, end + at) for start, end in other.hidden]
            at += len(other.text) + 1
        self.text = "\n".join([self.text, *(other.text for other in others)])
        self._begins += begins
        self._paths += [other.path for other in others]
        self._last = (0, "")
        self.__dict__.pop("starts", None)
        return begins

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order in which they were joined."""
        return tuple(self._paths)

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        return [0, *(match.end() for match in _BREAK.finditer(self.text))]

    def line_number(self, offset: int) -> int:
        """The line of this offset, counted from 1 through all files."""
        return bisect_right(self.starts, offset)

    def span(self, number: int) -> tuple[int, int]:
        """The offsets of a line so counted, its end excluded."""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.starts[number - 1], end

    def path_at(self, offset: int) -> str:
        """The file that holds this offset."""
        return self._paths[bisect_right(self._begins, offset) - 1]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, in its file, of the character at this offset."""
        line = self.line_number(offset)
        column = offset - self.starts[line - 1] + 1
        if len(self._begins) > 1:
            begin = self._begins[bisect_right(self._begins, offset) - 1]
            line -= self.line_number(begin) - 1
        return line, column

    def where(self, offset: int, seen_from: int) -> str:
        """Where an offset is, in a message at another: `line 12`, in another file `a.yaml:12`."""
        line, _ = self.position(offset)
        path = self.path_at(offset)
        return f"line {line}" if path == self.path_at(seen_from) else f"{path}:{line}"

    def line(self, offset: int) -> str:
        """
        The line at this offset as it may be shown, without its end; faults of one line share a
        copy.
        """
        number = self.line_number(offset)
        if self._last[0] != number:
            first, last = self.span(number)
            text = self.text[first:last].rstrip("\r\n")
            for start, end in self.hidden:
                if first <= start < last:
                    text = text[: start - first] + "*" * (end - start) + text[end - first :]
            self._last = (number, without_secrets(text))
        return self._last[1]

    def line_at(self, offset: int) -> tuple[str, int]:
        """
        The line that holds this offset, and the offset at which that text begins.

        Of a very long line only what is near, so that a fault costs the same in any file.
        """
        start, end = self.span(self.line_number(offset))
        start = max(start, offset - NEAR)
        return self.text[start : min(end, offset + NEAR)].rstrip("\r\n"), start


class Report:
    """
    Collects faults of one source; never stops anybody.

    Keeps the first `REPORTED_MAX`, so that a file of two million mistakes ends in time.
    `documents` are the nodes of what has been read, `rules` each rule's offsets and id.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Diagnostic] = []
        self.failed = False
        self.documents: list[Node] = []
        self.rules: list[tuple[int, int, str]] = []
        self._silent: Callable[[Diagnostic], bool] | None = None

    @property
    def full(self) -> bool:
        """Nothing more will be kept, so nothing more need be worked out."""
        return len(self.found) >= REPORTED_MAX

    def error(self, code: str, message: str, start: int, end: int, hint: str | None = None) -> None:
        """Something that must be mended before the file can be used."""
        if self._add("error", code, message, (start, end), hint):
            self.failed = True

    def warning(
        self, code: str, message: str, start: int, end: int, hint: str | None = None
    ) -> None:
        """Something that is probably not meant."""
        self._add("warning", code, message, (start, end), hint)

    def _add(
        self, severity: Severity, code: str, message: str, span: tuple[int, int], hint: str | None
    ) -> bool:
        """Whether it counts: not if somebody means it so."""
        if self.full:
            return True
        line, column = self.source.position(span[0])
        text = self.source.line(span[0])
        diagnostic = Diagnostic(
            code=code,
            message=without_secrets(message),
            file=self.source.path_at(span[0]),
            line=line,
            column=column,
            width=max(1, min(span[1] - span[0], len(text) - column + 1)),
            severity=severity,
            hint=None if hint is None else without_secrets(str(hint)),
            source=text,
            fix=self._fix(hint, span) if isinstance(hint, FixHint) else None,
            rule=self._rule_at(span[0]),
        )
        if self._silent is not None and self._silent(diagnostic):
            return False
        self.found.append(diagnostic)
        return True

    def _rule_at(self, offset: int) -> str | None:
        number = bisect_right(self.rules, offset, key=itemgetter(0)) - 1
        return self.rules[number][2] if number >= 0 and offset < self.rules[number][1] else None

    def _fix(self, hint: FixHint, span: Span) -> Fix | None:
        """None where more than a name or a line would go, or a password would be shown."""
        start, end = hint.span or span
        old = self.source.text[start:end]
        if "\n" in old or without_secrets(hint.text) != hint.text:
            return None
        if hint.of not in (None, old, old[1:-1]):
            return None
        line, column = self.source.position(start)
        return Fix(line, column, column + end - start, hint.text)

    def leave_out(self, silent: Callable[[Diagnostic], bool]) -> None:
        """From now on, and of the warnings so far, leave out what `silent` says yes to."""
        self._silent = silent
        self.found = [d for d in self.found if d.severity == "error" or not silent(d)]

    def take(self, other: "Report") -> None:
        """What was found in a file that was read apart."""
        self.failed = self.failed or other.failed
        self.found += other.found[: REPORTED_MAX - len(self.found)]
        self.documents += other.documents

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Everything found, in the order of the files and their lines, each once."""
        rank = {path: number for number, path in enumerate(self.source.paths)}
        return tuple(
            sorted(
                dict.fromkeys(self.found),
                key=lambda d: (rank.get(d.file, len(rank)), d.line, d.column, d.code, d.message),
            )
        )
