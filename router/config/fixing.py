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
        helped, useless, found = _helping(todo, found, before, check)
        refused |= {_said(d): d for d in useless}
        texts = _applied(before, helped)
        done += helped
    return Fixed({f: t for f, t in texts.items() if t != read(f)}, found, done, [*refused.values()])


def _helping(
    answers: Found, at_first: Found, before: Texts, check: Check
) -> tuple[Found, Found, Found]:
    """
    Those that help, those that do not, and what there is to say with the former. Of a line with
    something wrong only the first is tried once more: the others wait for the next round.
    """
    useless: list[Diagnostic] = []
    while answers:
        found = check(_applied(before, answers))
        wrong = _wrong_lines(answers, at_first, found)
        if not wrong:
            return answers, useless, found
        kept: list[Diagnostic] = []
        for line, group in groupby(answers, key=_line):
            mine = list(group)
            useless += mine if line in wrong and len(mine) == 1 else ()
            kept += mine if line not in wrong else mine[:1] if len(mine) > 1 else ()
        answers = kept
    return (), useless, at_first


def _wrong_lines(answers: Found, at_first: Found, found: Found) -> set[tuple[str, int]]:
    """Lines that answers have not mended: a finding is still there, or there is a new error."""
    after = Counter(map(_said, found))
    left = Counter(map(_said, at_first)) - Counter(map(_said, answers))
    wrong = {_line(d) for d in answers if after[_said(d)] > left[_said(d)]}
    hiding = {_line(d): d.code in _HIDING for d in answers}
    for d in found:
        hid = hiding.get(_line(d))
        seen_now = hid is None or (hid and d.code not in _HIDING)
        if d.severity == "error" and not (seen_now or d.fix or _said(d) in left):
            wrong.add(_line(d))
    return wrong


def _line(d: Diagnostic) -> tuple[str, int]:
    return d.file, d.line


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
