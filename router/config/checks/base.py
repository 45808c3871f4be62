"""What a check of a whole file is given, and what it says."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from router.config.context import LoadContext
from router.config.language import Written
from router.config.rule_types import RuleTexts
from router.config.schema import RuleEntry
from router.errors import Severity
from router.rules.ruleset import Ruleset
from router.yaml_source import Node, SourceText


class TextSpan(msgspec.Struct, frozen=True):
    """Some characters of a text's value."""

    text: SourceText
    start: int
    end: int


Place = Node | SourceText | TextSpan
Found = Iterator[tuple[Place, str] | tuple[Place, str, str]]
"""Where, what is wrong, and how to mend it where that is not plain."""


class CompiledFile(msgspec.Struct, frozen=True):
    """
    A file that has been read and compiled. `written` is everything that was compiled, `constant`
    are the conditions that are always true, by identity.
    """

    context: LoadContext
    written: Sequence[Written]
    rules: Sequence[RuleTexts]
    constant: frozenset[int]
    ruleset: Ruleset

    @property
    def entries(self) -> list[RuleEntry]:
        """The rules as they are written."""
        return self.context.file.rules or []


class FileCheck(msgspec.Struct, frozen=True):
    """
    One check. It runs `always`, even on a file with errors, or on one without: at every load
    (`right`), or only when somebody asks what is wrong (`thorough`). `meant`: see `codes.Code`.
    """

    code: str
    about: str
    run: Callable[[CompiledFile], Found]
    when: Literal["always", "right", "thorough"] = "always"
    severity: Severity = "error"
    meant: bool | None = None
