"""Findings that have one right answer, mended in the texts of a rules file and its includes."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from router.config.codes import YAML
from router.errors import Diagnostic

ROUNDS_MAX = 10
"""A mended place may show the next mistake of the same place; more than a few never come."""
_HIDING = frozenset({*YAML, "unknown-key", "expression-syntax"})
"""They keep their place from being read: what is found there afterwards was there before."""
_BREAK = re.compile(r"\r\n|\n|\r")

Texts = Mapping[str, str]
"""Texts by the file that diagnostics name."""
Found = Sequence[Diagnostic]
Check = Callable[[Texts], Found]
"""Everything there is to say when these files have these texts, and all others their own."""


class Fixed(msgspec.Struct, frozen=True):
    """
    The texts that would change, what is then left to say, and what was mended. `refused`: whose
    answer did not help, so it is not in the texts.
    """

    texts: Texts
    left: Found
    done: Found
    refused: Found


def fixed(read: Callable[[str], str], check: Check) -> Fixed:
    """
    Mend what has one right answer, again and again until nothing more comes of it.

    An answer counts if its finding goes and its line gets no new error that itself has no answer;
    errors of other lines that could not be seen before are no fault of it. `read` gives a file's
    text, without its byte order mark.
    """
    texts: dict[str, str] = {}
    found, done, refused = check({}), list[Diagnostic](), dict[Said, Diagnostic]()
    for _ in range(ROUNDS_MAX):
        todo = _apart(d for d in found if d.fix is not None and _said(d) not in refused)
        if not todo:
            break
        before = texts | {d.file: read(d.file) for d in todo if d.file not in texts}
        attempt = _Attempt(before, found, check)
        helped = attempt.narrowed([], todo)
        refused |= {_said(d): d for d in todo if d not in helped}
        texts, found = _applied(before, helped), attempt.found
        done += helped
    return Fixed({f: t for f, t in texts.items() if t != read(f)}, found, done, [*refused.values()])


class _Attempt:
    """One round: which of its answers help. `found`: what there is to say with them."""

    def __init__(self, before: Texts, found: Found, check: Check) -> None:
        self._before, self._check = before, check
        self._at_first = self.found = found

    def narrowed(self, kept: Found, more: Found) -> Found:
        """`kept` and those of `more` that help beside it; a bad one of many is found by halves."""
        if self._helps([*kept, *more]):
            return [*kept, *more]
        if len(more) == 1:
            return kept
        half = len(more) // 2
        return self.narrowed(self.narrowed(kept, more[:half]), more[half:])

    def _helps(self, answers: Found) -> bool:
        found = self._check(_applied(self._before, answers))
        after = Counter(map(_said, found))
        left = Counter(map(_said, self._at_first)) - Counter(map(_said, answers))
        if any(after[said] > left[said] for said in map(_said, answers)):
            return False
        hidden = {(d.file, d.line): d.code in _HIDING for d in answers}
        for d in found:
            hid = hidden.get((d.file, d.line))
            seen_now = hid is None or (hid and d.code not in _HIDING)
            if d.severity == "error" and not (seen_now or d.fix or _said(d) in left):
                return False
        self.found = found
        return True


Said = tuple[str, int, str, str]


def _said(d: Diagnostic) -> Said:
    return d.file, d.line, d.code, d.message


def _apart(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """In the order of their places, without those that overlap the one before."""
    apart: list[Diagnostic] = []
    last = ("", 0, 0)
    placed = ((d.file, d.fix.line, d.fix.column, d) for d in found if d.fix is not None)
    for *begin, d in sorted(placed, key=lambda one: one[:3]):
        if d.fix is not None and tuple(begin) >= last:
            apart.append(d)
            last = (d.file, d.fix.line, d.fix.end_column)
    return apart


def _applied(texts: Texts, answers: Found) -> dict[str, str]:
    """The texts with these answers, which are in order and apart."""
    changed = dict(texts)
    for file, mine in groupby(answers, key=lambda d: d.file):
        text, parts, last = texts[file], [], 0
        starts = [0, *(found.end() for found in _BREAK.finditer(text))]
        for fix in (d.fix for d in mine if d.fix is not None):
            start = starts[fix.line - 1] + fix.column - 1
            parts += [text[last:start], fix.text]
            last = starts[fix.line - 1] + fix.end_column - 1
        changed[file] = "".join([*parts, text[last:]])
    return changed
