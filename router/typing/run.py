"""One walk over one expression for one kind of event: what is found, and where it looked."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

import msgspec

from router.errors import Severity
from router.expressions import Expression
from router.expressions.nodes import Node, path_of
from router.legible import cut
from router.typing.equality import met
from router.typing.lattice import FALSE, TRUE, Type

Code = Literal[
    "always-fails",
    "always-true",
    "bare-word",
    "field-of-list",
    "field-of-value",
    "misspelt-field",
    "misspelt-value",
    "never-equal",
    "never-false",
    "never-ordered",
    "never-true",
    "not-a-list",
    "not-before-comparison",
    "nullable-argument",
    "nullable-template",
    "number-as-condition",
    "part-of-joined",
    "provider-alias",
    "regex-in-glob",
    "root-in-filter",
    "text-as-number",
    "unknown-field",
    "unknown-name",
    "value-not-known",
    "wrong-argument",
    "wrong-format",
]
"""What a finding is called; docs/codes has a page of each."""
Span = tuple[int, int]
"""Where something stands: offsets into the expression's text."""

Advice = str | Callable[[], str | None] | None


class TypeFinding(msgspec.Struct, frozen=True):
    """
    One thing to say about an expression, at characters `start` to `end` of its text. `sure`: even
    if it holds for some of its events only. `advice` is the hint, or makes it: of what is found
    for a hundred kinds of events one is said.
    """

    code: Code
    message: str
    start: int
    end: int
    advice: Advice = None
    severity: Severity = "error"
    sure: bool = True

    @property
    def span(self) -> Span:
        return self.start, self.end

    @property
    def hint(self) -> str | None:
        """How to mend it."""
        return self.advice() if callable(self.advice) else self.advice


def alike(a: Node, b: Node) -> bool:
    """Whether both are written alike, but for blanks."""
    if a.kind != b.kind or len(a.children) != len(b.children):
        return False
    if a.value != b.value or (a.kind == "literal" and repr(a.value) != repr(b.value)):
        return False  # 1 equals True, but not here
    return all(map(alike, a.children, b.children))


class Fact(NamedTuple):
    """
    What has been learnt of a node: what it gives, or how it is `judged` as a condition. It holds
    for all that are alike, where the current value and the reading are the same.
    """

    node: Node
    kind: Type
    judged: bool = False


class TypeScope(msgspec.Struct, frozen=True):
    """
    What a part of an expression sees. `here` is the current value, None where it is the roots;
    `said` is how the text names it; `strict` is the verdict reading. `begin` is where the path
    begins that this part goes on with, None if it begins a new one. `facts` is what has been learnt
    of calls, conditions and unknown fields, the newest first. `defines` are all definitions.
    """

    root: Type
    here: Type | None = None
    said: str = ""
    strict: bool = True
    begin: int | None = None
    facts: tuple[Fact, ...] = ()
    defines: Mapping[str, Expression] = {}

    @property
    def current(self) -> Type:
        """The type of `@`."""
        return self.root if self.here is None else self.here

    def at(self, here: Type, said: str, begin: int | None = None) -> "TypeScope":
        """The same, with another current value; with `begin` it is the next step of a path."""
        return TypeScope(self.root, here, said, self.strict, begin, (), self.defines)

    def fact(self, node: Node, *, judged: bool = False) -> Type | None:
        """What has been learnt of such a node."""
        for fact in self.facts:
            if fact.judged is judged and alike(fact.node, node):
                return fact.kind
        return None

    def defined(self, node: Node) -> Expression | None:
        """The definition that the node names, as in `def.NAME`."""
        if (path := path_of(node)) is None or len(path[1]) != 2 or path[1][0] != "def":
            return None
        rooted = path[0] or self.here is None
        return self.defines.get(str(path[1][1])) if rooted else None


class Clues(msgspec.Struct, frozen=True):
    """
    What helps to explain a finding: which events have a path that these do not, the path of the
    list whose elements these are, and the paths of the payload that roots are cut from.
    """

    elsewhere: Callable[[tuple[str, ...]], Iterable[str]] = lambda _: ()
    batch: str | None = None
    made_of: Mapping[str, str] = {}


_KEPT = frozenset({"call", "chain", "field", "index"})
"""Nodes of whose values facts are kept."""
NO_CLUES = Clues()
Values = Mapping[str, Callable[["TypeWalk", Node, TypeScope], Type]]
Verdicts = Mapping[str, Callable[["TypeWalk", Node, TypeScope], int]]


class TypeWalk:
    """
    Infers types and collects findings.

    `visited` are the places it came by, `fine` those where everything was known and right: what
    one kind of event forbids and another allows is no mistake.
    """

    def __init__(self, text: str, tables: tuple[Values, Verdicts], clues: Clues = NO_CLUES) -> None:
        self.text = text
        self.clues = clues
        self.findings: list[TypeFinding] = []
        self.visited: set[Span] = set()
        self.fine: set[Span] = set()
        self.words: set[Span] = set()
        self._tables = tables
        self._values, self._verdicts = tables

    def value(self, node: Node, view: TypeScope) -> Type:
        """What the node may give."""
        self.visited.add((node.start, node.end))
        kind = self._values[node.kind](self, node, view)
        fact = view.fact(node) if view.facts and node.kind in _KEPT else None
        return kind if fact is None else met(kind, fact)

    def verdict(self, node: Node, view: TypeScope) -> int:
        """What verdict the node may have: bits of TRUE, FALSE, FAULT."""
        self.visited.add((node.start, node.end))
        if (judge := self._verdicts.get(node.kind)) is not None:
            return judge(self, node, view)
        return self._verdicts["truth"](self, node, view)

    def quietly(self, node: Node, view: TypeScope) -> Type:
        """What the node may give; nothing is noted."""
        return TypeWalk(self.text, self._tables).value(node, view)

    def inside(self, definition: Expression) -> "TypeWalk":
        """A walk of its own over a definition."""
        return TypeWalk(definition.text, self._tables)

    def source(self, node: Node, view: TypeScope | None = None) -> str:
        """The node as it is written, with the path that leads to it, for messages."""
        begin = node.start if view is None or view.begin is None else view.begin
        return cut(" ".join(self.text[begin : node.end].split()), 60)

    def replaced(self, node: Node, part: Node, text: str) -> str:
        """The node as it is written, with another text for a part of it."""
        return self.text[node.start : part.start] + text + self.text[part.end : node.end]

    def note(
        self, code: Code, message: str, node: Node, hint: Advice = None, *, sure: bool = True
    ) -> None:
        """An error."""
        self.findings.append(TypeFinding(code, message, node.start, node.end, hint, sure=sure))

    def warn(self, code: Code, message: str, node: Node, hint: Advice = None) -> None:
        """Something that is probably not meant."""
        self.findings.append(TypeFinding(code, message, node.start, node.end, hint, "warning"))

    def found_within(self, node: Node) -> bool:
        """Whether something has been found in this part of the text."""
        return any(node.start <= f.start and f.end <= node.end for f in self.findings)


def span_of(node: Node) -> Span:
    return node.start, node.end


def denied(verdict: int) -> int:
    """The verdict's opposite; a failure stays one."""
    opposite = (FALSE if verdict & TRUE else 0) | (TRUE if verdict & FALSE else 0)
    return verdict & ~(TRUE | FALSE) | opposite
