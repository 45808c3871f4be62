"""What somebody else finds in the scripts of a rules file."""

from collections.abc import Callable, Sequence

import msgspec


class Script(msgspec.Struct, frozen=True):
    """A script and what reads it: the name of a shell, and its options."""

    interpreter: tuple[str, ...]
    text: str


class ScriptFinding(msgspec.Struct, frozen=True):
    """
    One thing to say about a script: a number, a message, and where it begins and ends, as lines and
    columns from 1, the end excluded.
    """

    code: int
    message: str
    start: tuple[int, int]
    end: tuple[int, int]


ScriptLint = Callable[[Sequence[Script]], Sequence[Sequence[ScriptFinding]]]
"""Gives the findings of each script; none if it cannot."""
