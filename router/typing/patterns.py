"""Calls with a pattern: what a group gives, and regular expressions where `*` alone is a sign."""

import re

from router.expressions.nodes import Node
from router.expressions.regex import group_names
from router.typing.lattice import (
    LIST,
    NULL,
    OBJECT,
    PRESENT,
    TEXT,
    Type,
    closed_object,
    elements,
    with_kinds,
    word,
)
from router.typing.run import TypeWalk

_MAYBE_TEXT = Type(TEXT | NULL)
_REGEX = re.compile(
    r"^\^|[^*$]\$$|\.\*\$$|\\[dDwWsSbB.+*/]|\[\^?(?:0-9|a-z|A-Z)|\([^()]*\|[^()]*\)|\.\+"
    r"|^\.\*.*\.\*$|^refs/(?:.*/)?\.\*"  # no part of a ref begins with a point
)
_IN_SLASHES = re.compile(r"^/(?=\^)|(?<=[^\\]\$)/[a-z]*$")

_SLASHES = re.compile(r"^/|/[a-z]*$")
_WAYS = re.compile(r"\||\(\?")
"""What may let another part fit, or `^` and `$` mean the ends of lines."""


def captured(pattern: Type) -> Type:
    """What `capture` gives for a pattern that is known."""
    [text] = pattern.texts or ("",)
    if not (names := group_names(text)):
        return _MAYBE_TEXT
    return with_kinds(closed_object(dict.fromkeys(names, _MAYBE_TEXT)), OBJECT | NULL)


def check_regex(run: TypeWalk, node: Node) -> None:
    """A pattern between slashes, as other languages write it: nothing stands before `^`."""
    pattern = node.children[1]
    text = str(pattern.value)
    if pattern.kind == "literal" and _IN_SLASHES.search(text) and not _WAYS.search(text):
        plain = _SLASHES.sub("", text)
        message = "this pattern never fits: its slashes count, and '^' and '$' are the text's ends"
        run.warn("never-true", message, pattern, f"leave out the slashes: '{plain}'")


def check_glob(run: TypeWalk, node: Node, subject: Type) -> None:
    """A pattern that is a regular expression, and a list that holds no text."""
    listed, pattern = node.children
    item = elements(subject) if node.value == "any_glob" and subject.surely(LIST) else None
    if item is not None and item.kinds & PRESENT and not item.kinds & TEXT:
        said = run.source(listed)
        message = f"any_glob() wants a list of texts, and an element of {said} is {word(item)}"
        run.note("wrong-argument", message, listed)
    if pattern.kind != "literal" or not isinstance(pattern.value, str):
        return
    if _REGEX.search(pattern.value):
        call = f"matches({run.source(listed)}, {run.source(pattern)})"
        run.warn(
            "regex-in-glob",
            f"this is a regular expression, and in {node.value}() only '*' has a meaning",
            pattern,
            f"write {call}" if node.value == "glob" else "name the files with '*' and '**' alone",
        )
