"""
Regular expressions, for `matches` and `capture`: RE2's, whose time grows with the text and nothing
else. What a sender writes can therefore not make a pattern slow.

RE2 is imported with the first pattern: most files have none.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from router.errors import EvaluationError, ExpressionError
from router.expressions.absent import JSON
from router.expressions.nodes import Node

BAD_PATTERN = "bad-pattern"
LENGTH_MAX = 1_000
PROGRAM_MAX = 5_000
WORK_MAX = 20_000_000
"""Steps of a compiled pattern times bytes of a text: a quarter of a second at the very worst."""
_MEMORY_MAX = 1 << 20


class PatternFault(NamedTuple):
    """What is wrong with characters `start` to `end` of a pattern, and what to write instead."""

    message: str
    start: int
    end: int
    hint: str | None = None


@cache
def _options(*, capturing: bool) -> Any:
    import re2  # noqa: PLC0415 - costly, and no wheel of it exists for musl

    options = re2.Options()
    options.max_mem = _MEMORY_MAX
    options.log_errors = False
    options.never_capture = not capturing
    return options


def _compiled(pattern: str, *, capturing: bool) -> Any:
    """RE2's own object; it keeps the last ones. Raises re2.error, ImportError."""
    import re2  # noqa: PLC0415

    options = _options(capturing=capturing)
    return re2.compile(pattern.encode("utf-8", "surrogatepass"), options)


# -- at compile time


def check_pattern(function: str, node: Node) -> None:
    """Whether the argument is a pattern that can be used. Raises ExpressionError."""
    if node.kind != "literal" or not isinstance(node.value, str):
        raise ExpressionError(
            BAD_PATTERN,
            f"{function}() takes its pattern as a text in single quotes",
            node.start,
            node.end,
            "it is checked when the file is read, so it cannot come from an event or a variable",
        )
    if (fault := fault_of(node.value)) is not None:
        start, end = node.start, node.end
        if end - start == len(node.value) + 2:  # else something in it is escaped
            start, end = start + 1 + fault.start, start + 1 + fault.end
        raise ExpressionError(BAD_PATTERN, fault.message, start, end, fault.hint)


def fault_of(pattern: str) -> PatternFault | None:
    """Why this is no pattern; None if it is one."""
    if len(pattern) > LENGTH_MAX:
        message = f"a regular expression has at most {LENGTH_MAX:,} characters"
        return PatternFault(message, 0, len(pattern))
    try:
        said = _refusal(pattern)
    except ImportError:
        return PatternFault(
            "regular expressions need the package google-re2, which is not installed",
            0,
            len(pattern),
            "pip install google-re2; there are wheels for Linux (glibc) and macOS",
        )
    return None if said is None else _explained(pattern, said)


def _refusal(pattern: str) -> str | None:
    """RE2's words for what is wrong: `missing ): (a`."""
    import re2  # noqa: PLC0415

    try:
        found = _compiled(pattern, capturing=True)
    except re2.error as error:
        [words] = error.args
        return words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    return _TOO_LARGE if found.programsize > PROGRAM_MAX else None


_TOO_LARGE = "pattern too large"


def _explained(pattern: str, said: str) -> PatternFault:
    kind = _kind(said)
    if kind.startswith(_TOO_LARGE):
        return PatternFault(
            "this regular expression is too large when its repetitions are written out",
            0,
            len(pattern),
            "make the numbers in { } smaller, or leave them out",
        )
    start, end = _place(pattern, said)
    for signs, message, hint in _PLAIN.get(kind, ()):
        if found := re.match(signs, pattern[start:]):
            shown = found[0] or pattern[start:end]
            return PatternFault(message.replace("…", shown), start, start + len(shown), hint)
    return PatternFault(f"not a regular expression: {said}", start, end, _SYNTAX)


def _place(pattern: str, said: str) -> tuple[int, int]:
    """Where it is: the beginnings that are wrong in the same way go at least so far."""
    kind, _, piece = said.partition(": ")
    if kind == "missing )":
        return 0, len(pattern)
    if kind == "missing ]":
        return pattern.rfind(piece), pattern.rfind(piece) + 1
    of = _kind if kind == "unexpected )" else str  # that one names all that it has read
    end = len(pattern)
    while end > 1 and of(_said(pattern[: end - 1])) == of(said):
        end -= 1
    return pattern.rfind(piece, 0, end) if piece and of is str else end - 1, end


def _said(pattern: str) -> str:
    return _refusal(pattern) or ""


def _kind(said: str) -> str:
    return said.partition(": ")[0]


_SYNTAX = "docs/functions.md says what a regular expression may hold"
_LINEAR = "with it a sender's text could make the router wait"
_LOOK = "write two conditions: matches(text, 'one') && !matches(text, 'other')"
_PLAIN: dict[str, tuple[tuple[str, str, str | None], ...]] = {
    "invalid perl operator": (
        (r"\(\?=|\(\?!", f"lookahead '…' is not supported: {_LINEAR}", _LOOK),
        (r"\(\?<[=!]", f"lookbehind '…' is not supported: {_LINEAR}", _LOOK),
        (r"\(\?>", "'…' is not supported and not needed: nothing is tried twice", "write (?:"),
        (r"\(\?P=|\(\?P>", f"a reference to a group is not supported: {_LINEAR}", None),
        (r"\(\?#", "there are no comments in a regular expression", None),
        (r"", "'…' means nothing here; (?i), (?m) and (?s) are the flags", None),
    ),
    "invalid escape sequence": (
        (r"\\[1-9k]", f"a reference to a group, '…', is not supported: {_LINEAR}", None),
        (r"\\Z", "'…' is not supported", r"the end of the text is \z or $"),
        (r"\\[uU]", "'…' is not supported", r"a character by its number is \x{20AC}"),
        (r"\\h", "'…' is not supported", r"blanks are [ \t]"),
        (r"\\R", "'…' is not supported", r"a line break is \r?\n"),
        (r"", "'…' means nothing", r"a backslash itself is \\"),
    ),
    "bad repetition operator": (
        (r".\+", "'…' is not supported and not needed: nothing is tried twice", None),
        (r"", "'…' repeats a repetition", None),
    ),
    "no argument for repetition operator": (
        (r"\*", "nothing stands before '*' that could be repeated", "any characters are .*"),
        (
            r"",
            "nothing stands before '…' that could be repeated",
            r"the sign itself has a \ before",
        ),
    ),
    "invalid repetition size": (("", "'…' repeats more than 1,000 times, or backwards", None),),
    "missing )": (("", "a '(' has no ')'", r"the sign itself is \("),),
    "unexpected )": (("", "this ')' has no '('", r"the sign itself is \)"),),
    "missing ]": (("", "this '[' has no ']'", r"the sign itself is \["),),
    "trailing \\": (("", "the last backslash has nothing after it", r"a backslash itself is \\"),),
    "invalid character class range": (("", "'…' is no range or class of characters", None),),
    "invalid named capture group": (
        ("", "'…' is no name of a group", "a named group is (?P<name>…)"),
    ),
}
"""RE2's kinds of faults; of the rows of one the first whose signs begin the piece is said."""


# -- at run time


def _search(pattern: str, function: str, *, capturing: bool) -> Callable[[str], Any]:
    found = _compiled(pattern, capturing=capturing)
    search, longest = found.search, WORK_MAX // found.programsize

    def search_bounded(text: str) -> Any:
        encoded = text.encode("utf-8", "surrogatepass")
        if len(encoded) > longest:
            raise EvaluationError(f"{function}() reads at most {longest:,} bytes by this pattern")
        return search(encoded)

    return search_bounded


def _matching(pattern: str) -> Callable[[str], bool]:
    search = _search(pattern, "matches", capturing=False)
    return lambda text: search(text) is not None


def _capturing(pattern: str) -> Callable[[str], JSON]:
    search = _search(pattern, "capture", capturing=True)
    names = group_names(pattern)

    def capture(text: str) -> JSON:
        if (found := search(text)) is None:
            return None
        if names:
            return {name: _text(found[name.encode()]) for name in names}
        return _text(found[1 if found.re.groups else 0])

    return capture


def _text(piece: bytes | None) -> str | None:
    return None if piece is None else piece.decode("utf-8", "replace")


def group_names(pattern: str) -> list[str]:
    """The names of the groups of a right pattern."""
    return [name.decode() for name in _compiled(pattern, capturing=True).groupindex]


REGEX_FUNCTIONS: dict[str, Callable[[str], Callable[[str], JSON]]] = {
    "matches": _matching,
    "capture": _capturing,
}
"""From a pattern to what is done with a text."""
