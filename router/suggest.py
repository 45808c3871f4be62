"""Hints that say what to write: the nearest of the names that would have been right."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from operator import eq

_WORK_MAX = 4_000_000
_LONG = 8
"""Letters of a name that is hardly near another by chance."""
_BEGINNING = 4
"""Letters at the beginning that two words hardly share by chance."""
_PARTS = re.compile(r"[^a-z0-9]+")
_PREFIXES = re.compile(r"(?<![a-z])(?:un|de|dis|re|in|en)(?=[a-z]{2})")
"""What makes another word of a word: `labeled` is no misspelling of `unlabeled`."""
_ID = re.compile(r"(?<=[a-z]{3})(?:_id|Id)s?\Z")
"""What makes its id of a thing: `assignee` is no misspelling of `assigneeId`."""
Span = tuple[int, int]
"""Where something stands: offsets, the second behind its last character."""


class FixHint(str):
    """
    A hint with one right answer: `text`, for what is underlined or else for `span`; a name's only
    where that name, `of`, is all that stands there.

    Who writes the hint writes the answer, so that they never differ. `+` and all else give a plain
    hint; `saying` and `writing` keep the rest.
    """

    text: str
    span: Span | None
    of: str | None

    def __new__(
        cls, hint: str, text: str, span: Span | None = None, of: str | None = None
    ) -> "FixHint":
        """The hint, what it says to write, and where, if that is not what is underlined."""
        made = super().__new__(cls, hint)
        made.text, made.span, made.of = text, span, of
        return made

    def saying(self, hint: str) -> "FixHint":
        """The same answer in other words."""
        return FixHint(hint, self.text, self.span, self.of)

    def writing(self, text: str) -> "FixHint":
        """The same words with another answer."""
        return FixHint(self, text, self.span, self.of)


def closest(word: str, known: Iterable[str], *, fold: Callable[[str], str] = str) -> list[str]:
    """
    The known words of least edit distance up to 2; up to 1 if the word has four letters or either
    has three, 0 below. A thing and its id, and two that differ by a prefix such as `un`, are never
    near. `fold` says what counts of a word.
    """
    best, least, folded = list[str](), 2, fold(word)
    for name in known:
        limit = min(least, _allowed(len(word), len(name)))
        if abs(len(name) - len(word)) <= limit:
            distance = edit_distance(folded, fold(name), limit + 1)
            if distance <= limit and not _two_words(word, name):
                best = [*best, name] if distance == least else [name]
                least = distance
    return best


def by_beginning(word: str, known: Iterable[str]) -> list[str]:
    """The known words, first those that begin like `word` for longest, else as they come."""
    return sorted(known, key=lambda name: -_alike_for(word.lower(), name.lower()))


def _alike_for(a: str, b: str) -> int:
    same = _shared(a, b)
    return same if same >= _BEGINNING else 0


def begun_alike(word: str, known: Iterable[str]) -> str | None:
    """
    `did you mean 'x'?` of the known word that begins like `word`, where none is near; or None.

    All is the same up to the last part of `word`; of that at least four letters, and one ends there
    or most of both is the same: `open` and `opened`, `charge.success` and `charge.succeeded`. It
    may be another word, so this is a plain hint.
    """
    *head, last = _PARTS.split(word.lower())
    found: list[tuple[int, int, str]] = []
    for name in known:
        parts = _PARTS.split(name.lower())
        if len(parts) > len(head) and parts[: len(head)] == head:
            other = parts[len(head)]
            same, lengths = _shared(last, other), (len(last), len(other))
            alike = same == min(lengths) or 2 * same > max(lengths)
            if same >= _BEGINNING and alike and not _two_words(word, name):
                found.append((-same, len(name), name))
    return f"did you mean '{min(found)[-1]}'?" if found else None


def _shared(a: str, b: str) -> int:
    """How many letters both begin with."""
    return sum(takewhile(bool, map(eq, a, b)))


def _allowed(letters: int, of_known: int) -> int:
    if min(letters, of_known) < 3:
        return 0
    return 2 if letters >= 5 and of_known > 3 else 1


def _two_words(a: str, b: str) -> bool:
    """Whether both mean something, and something else."""
    if a != b and _PREFIXES.sub("", a) == _PREFIXES.sub("", b):
        return True
    return a in (_ID.sub("", b), _ID.sub("s", b)) or b in (_ID.sub("", a), _ID.sub("s", a))


def character(letter: str) -> str:
    """A character by its code point, for one that cannot be told by its looks."""
    code = f"U+{ord(letter):04X} {unicodedata.name(letter, 'without a name')}"
    return f"'{letter}' ({code})" if letter.isprintable() and not letter.isspace() else code


def meaning(
    name: str,
    near: Sequence[str],
    write: Callable[[str], str] | None = None,
    *,
    fix: bool = True,
) -> str | None:
    """
    `did you mean 'x'?` of the first, or None of none. A lone one that `is_sure` is a fix: it takes
    the place of the name, or what `write` makes of it that of all that is underlined.
    """
    if not near:
        return None
    hint = f"did you mean '{near[0]}'?"
    if not fix or len(set(near)) > 1 or not is_sure(name, near[0]):
        return hint
    return FixHint(hint, near[0], of=name) if write is None else FixHint(hint, write(near[0]))


def is_sure(name: str, near: str) -> bool:
    """Whether a near name is hardly near by chance."""
    return len(name) >= _LONG or edit_distance(name.lower(), near.lower(), 2) <= 1


def as_text(word: str) -> str:
    """How a bare word is written as a text."""
    hint = f"if the text is meant, write '{word}' in single quotes"
    return hint if {"'", "\\"} & set(word) else FixHint(hint, f"'{word}'")


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """`did you mean 'x'?` or None, whatever the case of letters."""
    return Suggester().hint(name, candidates)


class Suggester:
    """
    Finds near names, with a budget for one file: letters that are compared with one another.

    A misspelling in every one of ten thousand rules must not compare ten thousand names each.
    """

    def __init__(self, work: int = _WORK_MAX) -> None:
        self._work = work

    def closest(self, name: str, candidates: Iterable[str]) -> list[str]:
        """The nearest candidates, whatever the case of letters."""
        return closest(name, self._affordable(name, candidates), fold=str.lower)

    def hint(self, name: str, candidates: Iterable[str]) -> str | None:
        """`did you mean 'x'?`, with a character of `name` that only looks like another; or None."""
        hint = meaning(name, found := self.closest(name, candidates))
        if hint is None:
            return None
        odd = next((one for one in name if one not in found[0] and not one.isascii()), "")
        said = hint + (f" {character(odd)} is in it" if odd else "")
        return hint.saying(said) if isinstance(hint, FixHint) else said

    def _affordable(self, name: str, candidates: Iterable[str]) -> Iterator[str]:
        for candidate in candidates:
            if abs(len(candidate) - len(name)) <= 2:
                self._work -= len(name) * len(candidate)
                if self._work < 0:
                    return
                yield candidate


def edit_distance(a: str, b: str, limit: int) -> int:
    """
    How many insertions, deletions, replacements and swaps of neighbours make `a` into `b`.

    Gives `limit` as soon as the distance cannot be smaller.
    """
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) >= limit and min(last) >= limit:
            return limit
        before, last = last, row
    return min(last[-1], limit)
