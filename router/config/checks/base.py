"""What a check of a whole file is given, and what it says."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from router.config.context import LoadContext
from router.config.language import Written
from router.config.rule_schema import RuleEntry
from router.config.rule_types import RuleTexts
from router.errors import Severity
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledAction
from router.typing.scenes import Scenes
from router.yaml_source import Node, SourceText


class TextSpan(msgspec.Struct, frozen=True):
    """Some characters of a text's value."""

    text: SourceText
    start: int
    end: int


class SourceSpan(msgspec.Struct, frozen=True):
    """Some characters of the file."""

    start: int
    end: int


Place = Node | SourceText | TextSpan | SourceSpan
Found = Iterator[tuple[Place, str] | tuple[Place, str, str]]
"""Where, what is wrong, and how to mend it where that is not plain."""


class CompiledFile(msgspec.Struct, frozen=True):
    """
    A file that has been read and compiled. `written` is everything that was compiled, `constant`
    are the conditions that are always true, by identity; `scenes` says what events look like.
    """

    context: LoadContext
    written: Sequence[Written]
    rules: Sequence[RuleTexts]
    constant: frozenset[int]
    scenes: Scenes
    ruleset: Ruleset

    @property
    def entries(self) -> list[RuleEntry]:
        """The rules as they are written."""
        return self.context.file.rules or []

    @property
    def actions(self) -> Iterator[tuple[RuleTexts, Any, CompiledAction]]:
        """
        Every action of a file without errors: its rule, what stands under the key of its kind, and
        what it was compiled to. What rules share comes once for each of them.
        """
        shared = self.context.file.actions
        for texts in self.rules:
            for entry, action in zip(texts.entry.actions or (), texts.rule.actions, strict=True):
                used = shared.items[entry.use.value][1] if shared and entry.use else entry
                for given in used.chosen.values() if used else ():
                    yield texts, given, action


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
