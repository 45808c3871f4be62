"""
The verdict of an expression again, slower, with every leaf: what was found, and why.

The leaves are judged by the closures of the fast verdict, made from the same tree; only what joins
them is read here. So the two agree, which a property test holds them to.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from router.expressions.absent import ABSENT, JSON, Failed, Lazy
from router.expressions.compare import type_word
from router.expressions.expression import Expression, Scope
from router.expressions.faults import FAULTS, reason_of
from router.expressions.nodes import Node
from router.expressions.value import build
from router.expressions.verdict import STRICT, build_verdict

LeafVerdict = Literal["true", "false", "error", "not evaluated"]
JoinKind = Literal["all", "any", "not"]


class Found(msgspec.Struct, frozen=True):
    """
    What one operand of a leaf was. `type` is JMESPath's word, `absent`, or `error`; then `value` is
    None, and for an error the reason as text.
    """

    text: str
    type: str
    value: JSON


class Leaf(msgspec.Struct, frozen=True):
    """
    One test that cannot be divided: characters `start` to `end` of `expression`.

    `number` counts from 1. `wanted` is the verdict that helps the whole become true, which under
    `!` or `not:` is False. `reason` is set for an error.
    """

    number: int
    expression: str
    start: int
    end: int
    wanted: bool
    verdict: LeafVerdict
    found: tuple[Found, ...] = ()
    reason: str | None = None
    node: Node | None = None

    @property
    def text(self) -> str:
        """Its own text."""
        return self.expression[self.start : self.end]

    @property
    def failed(self) -> bool:
        """It was evaluated and did not help."""
        return self.verdict not in ("not evaluated", "true" if self.wanted else "false")


class Trace(msgspec.Struct, frozen=True):
    """
    A verdict and the leaves that made it.

    `missing` is the least number of leaves that would have to answer otherwise for the verdict to
    be true (at least: leaves that were not evaluated count as helping); `pivots` are the numbers of
    those of which one alone would do.
    """

    verdict: bool | Failed
    leaves: tuple[Leaf, ...]
    missing: int
    pivots: tuple[int, ...] = ()


class TracePart(msgspec.Struct, frozen=True):
    """A test: one leaf (`node` of `expression`), or others joined; `all` of none is true."""

    kind: Literal["leaf"] | JoinKind
    parts: tuple["TracePart", ...] = ()
    expression: str = ""
    node: Node | None = None


def part_of(expression: Expression) -> TracePart:
    """An expression as its leaves, joined by `&&`, `||` and `!`."""
    return _divided(expression.text, expression.tree)


def trace(test: Expression | TracePart, scope: Scope, *, first: int = 1) -> Trace:
    """
    Judge a test and keep what was seen; never raises. Leaves are numbered from `first`.

    Beyond the fast reading it evaluates what else stands in the way: all parts of an AND that
    should be true, of an OR that should be false. It changes no verdict.
    """
    part = test if isinstance(test, TracePart) else part_of(test)
    reader = _TraceReader(scope, first)
    verdict, missing, pivots = reader.read(part, wanted=True)
    return Trace(verdict, tuple(reader.leaves), missing, pivots if missing == 1 else ())


# -- a tree as parts

_JOINS: dict[str, JoinKind] = {"and": "all", "or": "any"}


def _divided(text: str, node: Node) -> TracePart:
    if (kind := _JOINS.get(node.kind)) is not None:
        return TracePart(kind, tuple(_divided(text, child) for child in node.children))
    if node.kind == "not" and _is_joined(node.children[0]):
        return TracePart("not", (_divided(text, node.children[0]),))
    return TracePart("leaf", (), text, node)


def _is_joined(node: Node) -> bool:
    """Whether there is more than one leaf in it; `!path` is one leaf for its reader."""
    while node.kind == "not":
        node = node.children[0]
    return node.kind in _JOINS


# -- reading

_Outcome = tuple[bool | Failed, int, tuple[int, ...]]


class _TraceReader:
    """One trace in the making."""

    def __init__(self, scope: Scope, first: int) -> None:
        self.leaves: list[Leaf] = []
        self._scope = scope
        self._first = first

    def read(self, part: TracePart, *, wanted: bool, skip: bool = False) -> _Outcome:
        """
        The verdict; how many leaves stand in the way of `wanted`; those that do so alone.

        To `skip` is only to note the leaves.
        """
        if part.kind == "leaf":
            return self._leaf(part, wanted, skip)
        if part.kind == "not":
            verdict, missing, pivots = self.read(part.parts[0], wanted=not wanted, skip=skip)
            return verdict if isinstance(verdict, Failed) else not verdict, missing, pivots
        return self._joined(part, wanted, skip)

    def _joined(self, part: TracePart, wanted: bool, skip: bool) -> _Outcome:
        decisive = part.kind == "any"  # the verdict of one part that settles the whole
        failed: Failed | None = None
        decided = False
        ways: list[tuple[int, tuple[int, ...]]] = []
        for inner in part.parts:
            if skip or (decided and wanted is decisive):
                self.read(inner, wanted=wanted, skip=True)
                continue
            verdict, missing, pivots = self.read(inner, wanted=wanted)
            ways.append((missing, pivots))
            if isinstance(verdict, Failed):
                failed = failed or verdict
            elif verdict is decisive:
                decided = True
        counts = [count for count, _ in ways]  # one part must help, the nearest; or all of them
        missing = min(counts, default=1) if wanted is decisive else sum(counts)
        alone = [numbers for count, numbers in ways if count == missing == 1]
        pivots = tuple(number for numbers in alone for number in numbers)
        if decided:
            return decisive, missing, pivots
        return (not decisive) if failed is None else failed, missing, pivots

    def _leaf(self, part: TracePart, wanted: bool, skip: bool) -> _Outcome:
        node, text, number = part.node, part.expression, self._first + len(self.leaves)
        assert node is not None  # noqa: S101 - every leaf has one
        place = (number, text, node.start, node.end, wanted)
        if skip:
            self.leaves.append(Leaf(*place, "not evaluated", node=node))
            return False, 0, ()
        verdict = build_verdict(node)(self._scope, self._scope)
        found = tuple(_found(text, operand, self._scope) for operand in _operands(node))
        reason = verdict.reason if isinstance(verdict, Failed) else None
        word: LeafVerdict = "error" if reason is not None else "true" if verdict else "false"
        self.leaves.append(Leaf(*place, word, found, reason, node))
        return (verdict, 0, ()) if verdict is wanted else (verdict, 1, (number,))


# -- what was found


def _operands(node: Node) -> list[Node]:
    """The parts of a leaf whose values explain its verdict."""
    while node.kind == "not":
        node = node.children[0]
    if node.kind not in ("compare", "call"):
        return [node]
    return [child for child in node.children if child.kind not in ("literal", "expref")]


def _found(text: str, node: Node, scope: Scope) -> Found:
    own = text[node.start : node.end]
    try:
        value = build(node, STRICT)(scope, scope)
        # Inside `$` the definitions, which may hold `$`, are only named.
        value = _bare(value.everything() if isinstance(value, Lazy) else value)
    except FAULTS as fault:
        return Found(own, "error", reason_of(fault))
    return Found(own, "absent", None) if value is ABSENT else Found(own, type_word(value), value)


def _bare(value: Any) -> Any:
    if isinstance(value, Lazy):
        return "(definitions)"
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _bare(item) for name, item in value.items()}
    return value
