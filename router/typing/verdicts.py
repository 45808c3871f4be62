"""What verdict a condition may have, and whether its leaves can decide anything at all."""

import re
from itertools import islice, pairwise, product

from router.expressions.nodes import Node
from router.suggest import FixHint
from router.typing.doomed import is_closed
from router.typing.equality import may_equal, must_equal, truth
from router.typing.fields import mark_words
from router.typing.interval import OPPOSITE, may_be
from router.typing.lattice import (
    ABSENT,
    BOOLEAN,
    FALSE,
    FAULT,
    LIST,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    PRESENT,
    TEXT,
    TRUE,
    Type,
    elements,
    said_of,
    stored,
    word,
)
from router.typing.literals import check_alone, check_formats, check_word
from router.typing.narrow import when_false, when_true
from router.typing.run import TypeScope, TypeWalk, alike, denied, span_of

_PAIRS_MAX = 64
_TIMES = frozenset({"timestamp", "date", "day"})
_NEVER_EMPTY = frozenset({"payload", "headers", "delivery"})
_NAMING = ("login", "name", "title", "email", "key", "id")
"""Fields of an object by which a text that it is compared with most likely names it."""
_AN_ID = re.compile(r"(?:\b|_)id\Z|Id\Z")
"""The end of an id's name: none is 0, so its truth is its presence."""


# -- joined


def of_and(run: TypeWalk, node: Node, view: TypeScope) -> int:
    fault, false, true, seen = 0, 0, TRUE, view
    last = node.children[-1]
    for child in node.children:
        verdict = run.verdict(child, seen)
        fault |= verdict & FAULT
        false |= verdict & FALSE
        true &= verdict
        if child is last:
            break
        narrowed = when_true(run, child, seen) if verdict & TRUE else None
        if narrowed is not None:
            seen = narrowed
        elif not _mistaken(run, child):
            return FALSE | fault
    # What was learnt from a part that failed may be wrong for the next ones.
    return true | false | fault | (0 if true and not fault else FALSE)


def _mistaken(run: TypeWalk, node: Node) -> bool:
    """Whether a part fails by a mistake, so that its neighbours are still worth a look."""
    return any(
        node.start <= f.start and f.end <= node.end and f.code != "never-true" for f in run.findings
    )


def of_or(run: TypeWalk, node: Node, view: TypeScope) -> int:
    true, fault, all_false, seen = 0, 0, True, view
    for before, child in pairwise((node, *node.children)):
        check_alone(run, before, child)
        verdict = run.verdict(child, seen)
        true |= verdict & TRUE
        fault |= verdict & FAULT
        all_false = all_false and bool(verdict & FALSE)
        if verdict == TRUE:
            return TRUE
        if (narrowed := when_false(run, child, seen)) is None:
            return BOOLEAN | fault
        seen = narrowed
    return true | fault | (FALSE if all_false else 0)


def of_not(run: TypeWalk, node: Node, view: TypeScope) -> int:
    return denied(run.verdict(node.children[0], view))


def of_pipe(run: TypeWalk, node: Node, view: TypeScope) -> int:
    *firsts, last = node.children
    kind, seen, fault = view.current, view, 0
    for child in firsts:
        kind = run.value(child, seen)
        fault |= kind.kinds & FAULT
        seen = view.at(kind, run.source(child))
    return run.verdict(last, seen) | fault


def of_truth(run: TypeWalk, node: Node, view: TypeScope) -> int:
    kind = run.value(node, view)
    said = run.source(node)
    is_number = kind.surely(NUMBER) and node.kind != "literal" and not _AN_ID.search(said)
    if is_number and not run.found_within(node):
        run.warn(
            "number-as-condition",
            f"{said} is a number, and every number is true as a condition, 0 too",
            node,
            f"write {said} > 0, or {said} != null",
        )
    if node.kind == "field" and view.here is None and node.value in _NEVER_EMPTY:
        message = f"{node.value} as a condition is always true: every event has it"
        run.warn("always-true", message, node, f"name a field: {node.value}.NAME")
    return _decided(run, node, truth(kind), view)


def _decided(
    run: TypeWalk, node: Node, verdict: int, view: TypeScope, sides: tuple[Type, ...] = ()
) -> int:
    """Says so when a leaf always gives the same, and which of its sides decide that."""
    before = view.fact(node, judged=True)
    if before is not None:
        verdict &= before.kinds
    if run.found_within(node) or verdict & BOOLEAN == BOOLEAN:
        return verdict
    said, hint = run.source(node), _reason(run, node, sides)
    if before is not None:
        hint = "the same condition stands twice: it is decided before this"
    if not verdict & TRUE:
        run.warn("never-true", f"{said} can never be true here", node, hint)
    elif verdict == TRUE:
        run.warn("always-true", f"{said} is always true here", node, hint)
    else:
        if hint and node.value == "!=" and not alike(*node.children):
            hint += "; to exclude both, join them with &&"
        run.warn("never-false", f"{said} is always true of the values that come here", node, hint)
    return verdict


def _reason(run: TypeWalk, node: Node, sides: tuple[Type, ...]) -> str | None:
    """What is known of the sides of a comparison, where that decides it."""
    if not sides:
        return None
    if alike(*node.children):
        return "both sides are the same"
    each = zip(node.children, sides, strict=True)
    known = [
        f"{run.source(side)} {words}"
        for side, kind in each
        if side.kind != "literal" and (words := said_of(kind)) is not None
    ]
    return f"here {' and '.join(known)}" if known else None


# -- comparisons


def of_compare(run: TypeWalk, node: Node, view: TypeScope) -> int:
    _not_first(run, node)
    mark_words(run, node.children, right_is_word=True)
    left, right = (run.value(child, view) for child in node.children)
    if not view.strict:
        left, right = _kept(left), _kept(right)
    if node.value in ("==", "!="):
        verdict = _equality(node, left, right)
        _check_equality(run, node, left, right)
    else:
        verdict = _order(node.value, left, right)
        _check_order(run, node, left, right)
    if not (left.is_any or right.is_any) and not run.found_within(node):
        run.fine.add(span_of(node))
    if alike(*node.children):
        verdict &= FAULT | (TRUE if "=" in node.value and node.value != "!=" else FALSE)
    if all(map(is_closed, node.children)) and any(c.kind == "call" for c in node.children):
        return verdict  # who writes `decimal('12') == 12` is trying out a function
    return _decided(run, node, verdict, view, (left, right))


def _kept(kind: Type) -> Type:
    """As plain JMESPath compares it: absent is null; a failure stays one."""
    fault = kind.kinds & FAULT
    kept = stored(kind)
    return kept if not fault else Type(kept.kinds | fault, rest=kept.rest)


def _equality(node: Node, left: Type, right: Type) -> int:
    verdict = (left.kinds | right.kinds) & FAULT
    first, second = node.children
    if first.kind == "literal" and second.kind != "literal":
        first, second, left, right = second, first, right, left
    if second.kind == "literal" and second.value is None:
        verdict |= TRUE if left.kinds & NOTHING else 0
        verdict |= FALSE if left.kinds & PRESENT else 0
    else:
        verdict |= FAULT if (left.kinds | right.kinds) & ABSENT else 0
        verdict |= TRUE if may_equal(left, right) else 0
        comparable = left.kinds & ~(ABSENT | FAULT) and right.kinds & ~(ABSENT | FAULT)
        verdict |= FALSE if comparable and not must_equal(left, right) else 0
    return verdict if node.value == "==" else denied(verdict)


def _order(sign: str, left: Type, right: Type) -> int:
    verdict = FAULT if (left.kinds | right.kinds) & ~NUMBER else 0
    if not left.kinds & right.kinds & NUMBER:
        return verdict
    pairs = list(islice(product(left.intervals, right.intervals), _PAIRS_MAX + 1))
    if len(pairs) > _PAIRS_MAX:
        return verdict | BOOLEAN
    verdict |= TRUE if any(may_be(sign, a, b) for a, b in pairs) else 0
    return verdict | (FALSE if any(may_be(OPPOSITE[sign], a, b) for a, b in pairs) else 0)


def _not_first(run: TypeWalk, node: Node) -> None:
    left = node.children[0]
    if left.kind != "not" or run.text[left.start : left.start + 1] != "!":
        return
    inner, right = run.source(left.children[0]), run.source(node.children[1])
    opposite = {"==": "!=", "!=": "=="}.get(node.value)
    meant = f"{inner} {opposite} {right}" if opposite else f"!({inner} {node.value} {right})"
    run.warn(
        "not-before-comparison",
        f"'!' takes only {inner}, so this compares true or false with {right}",
        node,
        f"write {meant}",
    )


# -- equality that cannot hold


def _check_equality(run: TypeWalk, node: Node, left: Type, right: Type) -> None:
    if run.found_within(node) or not (left.kinds & PRESENT and right.kinds & PRESENT):
        return
    first, second = node.children
    if left.surely(TEXT) and right.surely(TEXT):
        if second.kind == "literal":
            check_word(run, second, first, left)
        elif first.kind == "literal":
            check_word(run, first, second, right)
        else:
            check_formats(run, node, left, right)
    elif left.kinds & right.kinds & PRESENT or (left.surely(BOOLEAN) and right.surely(BOOLEAN)):
        return
    elif {left.kinds & PRESENT, right.kinds & PRESENT} == {TEXT, NUMBER}:
        _text_as_number(run, node, left)
    else:
        _never_equal(run, node, left, right)


def _never_equal(run: TypeWalk, node: Node, left: Type, right: Type) -> None:
    a, b = node.children
    message = f"{run.source(a)} is {word(left)} and never equals {word(right)}"
    hint: str | None = None
    literal, kind = (b, left) if b.kind == "literal" else (a, right)
    if kind.surely(BOOLEAN) and literal.value in ("true", "false"):
        fixed = run.replaced(node, literal, str(literal.value))
        hint = FixHint(f"write {literal.value} without quotes", fixed)
    elif kind.surely(LIST | OBJECT):
        hint = _within(run.source(a if literal is b else b), kind, run.source(literal))
    run.note("never-equal", message, node, hint)


def _within(said: str, kind: Type, literal: str) -> str | None:
    """How to compare a text with what a list holds, or with the field that names an object."""
    each = elements(kind) if kind.surely(LIST) else kind
    name = next((n for n in _NAMING if n in each.fields and each.fields[n].kinds & TEXT), None)
    if not kind.surely(LIST):
        return name and f"write {said}.{name} == {literal}"
    if not each.surely(OBJECT):
        return f"write contains({said}, {literal})"
    return name and f"write contains({said}[].{name}, {literal})"


def _text_as_number(run: TypeWalk, node: Node, left: Type) -> None:
    text, number = node.children if left.kinds & TEXT else reversed(node.children)
    sign = node.value
    if text.kind == "literal":
        said, value = run.source(number), str(text.value)
        message = f"{said} is a number and is compared with a text"
        hint = None
        if _digits(value):
            hint = FixHint(f"write {said} {sign} {value}", run.replaced(node, text, value))
    else:
        message = f"{run.source(text)} is a text and is compared with a number"
        a, b = (f"decimal({run.source(c)})" if c is text else run.source(c) for c in node.children)
        fixed = run.replaced(node, text, f"decimal({run.text[text.start : text.end]})")
        hint = FixHint(f"write {a} {sign} {b}", fixed)
    run.note("text-as-number", message, node, hint)


def _digits(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdigit()


# -- order of what has none


def _check_order(run: TypeWalk, node: Node, left: Type, right: Type) -> None:
    if run.found_within(node):
        return
    sides = list(zip(node.children, (left, right), strict=True))
    texts = [(child, kind) for child, kind in sides if kind.surely(TEXT)]
    numbers = [kind for _, kind in sides if kind.surely(NUMBER)]
    times = [run.source(child) for child, kind in texts if kind.format in _TIMES]
    if times:
        dated = [run.source(_time_of(child)) for child in node.children if not _is_now(child)]
        run.note(
            "never-ordered",
            f"{times[0]} is a text; < and > need numbers",
            node,
            f"age({(dated or times)[0]}) is its age in seconds",
        )
    elif len(texts) == 1 and numbers:
        _text_as_number(run, node, left)
    elif len(texts) == 2:
        a, b = (
            child.value
            if child.kind == "literal" and _digits(str(child.value))
            else f"decimal({run.source(child)})"
            for child in node.children
        )
        run.note(
            "never-ordered",
            "< and > need numbers, and both sides are texts",
            node,
            f"if both show numbers, write {a} {node.value} {b}",
        )
    else:
        _no_number(
            run, node, [(c, k) for c, k in sides if k.surely(BOOLEAN | LIST | OBJECT | NULL)]
        )


def _time_of(node: Node) -> Node:
    """What a day was made of."""
    return node.children[0] if node.kind == "call" and node.value == "date" else node


def _is_now(node: Node) -> bool:
    return node.kind == "call" and node.value == "now"


def _no_number(run: TypeWalk, node: Node, wrong: list[tuple[Node, Type]]) -> None:
    if not wrong:
        return
    child, kind = wrong[0]
    said = run.source(child)
    run.note(
        "never-ordered",
        f"{said} is {word(kind)}; < and > need numbers",
        node,
        f"write length({said})" if kind.surely(LIST) else None,
    )
