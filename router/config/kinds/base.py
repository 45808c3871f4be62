"""What the compilers of all kinds of action share."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from router.config.context import LoadContext
from router.config.language import ExpressionSite, Language
from router.expressions import Template
from router.model.retry import RetryPolicy
from router.model.settings import Api, Target
from router.yaml_source import SourceText, Table

Compiled = tuple[msgspec.Struct, str | None]
"""A spec, and the name its limits belong to; None: `rule/action`."""


class Surroundings(msgspec.Struct, frozen=True):
    """
    What a rule's actions are compiled with; `roots` are those its endpoints offer, `sources` the
    endpoints that it names.
    """

    rule: str
    roots: frozenset[str]
    retry: RetryPolicy | None
    sources: tuple[str, ...] = ()


class CompileContext(msgspec.Struct, frozen=True):
    """What one load of one file offers to the actions of all its rules."""

    language: Language
    targets: Mapping[str, Target]
    apis: Mapping[str, Api]

    @property
    def context(self) -> LoadContext:
        """Where faults are reported."""
        return self.language.context

    def template(self, text: SourceText | None, place: ExpressionSite) -> Template | None:
        """The text as a template; None if there is none, or with its faults reported."""
        return None if text is None else self.language.template(text, place)

    def pairs(
        self, table: Table[SourceText] | None, place: ExpressionSite
    ) -> tuple[tuple[str, Template], ...]:
        """Names and their templates; those with faults are reported and left out."""
        found = ((name.value, self.template(text, place)) for name, text in table or ())
        return tuple((name, template) for name, template in found if template is not None)


Compile = Callable[[Any, Surroundings], Compiled]


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """
    A key of an action in the rules file, and the kind that it compiles to.

    `entry` is the type of its value, `about` describes it in the published schema. `compiler` makes
    what compiles the values of one file and reports their faults. `look` warns of what is not on
    the machine that checks; None: nothing can be missing. `offers` are words that editors offer for
    keys of the value, which take others as well, `examples` what may stand there.
    """

    kind: str
    entry: Any
    about: str
    compiler: Callable[[CompileContext], Compile]
    look: Callable[[LoadContext, Any], None] | None
    offers: Mapping[str, tuple[str, ...]] = {}
    examples: tuple[Any, ...] = ()
