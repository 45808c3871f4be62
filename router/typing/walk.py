"""One expression over several scenes: what is known in each, and what a walk finds there."""

from collections.abc import Sequence
from functools import reduce
from typing import Literal

import msgspec

from router.expressions import Expression, FieldNeed, needs_of
from router.typing.combine import WalkResult, is_constant
from router.typing.infer import TABLES
from router.typing.lattice import TEXT, Type
from router.typing.narrow import both
from router.typing.run import TypeScope, TypeWalk
from router.typing.scenes import Scene

Reading = Literal["verdict", "value"]
Views = tuple[TypeScope | None, ...]
"""What is known in each scene; None where the rule cannot match."""


def kept(views: Views, before: Views) -> Views:
    """What is known, unless nothing can match any more: the rest is still worth a look."""
    return views if any(views) else before


def opened(scenes: Sequence[Scene]) -> Views:
    """What is known before anything has been read."""
    return tuple(TypeScope(scene.roots) for scene in scenes)


def walked(
    expression: Expression, reading: Reading, scenes: Sequence[Scene], views: Views
) -> list[WalkResult]:
    """Each scene by itself; those of no catalogue only where they can change anything."""
    known: list[WalkResult] = []
    guesses: list[tuple[Scene, TypeScope]] = []
    for scene, view in zip(scenes, views, strict=True):
        if view is not None and scene.guessed:
            guesses.append((scene, view))
        elif view is not None:
            known.append(_walk(expression, reading, scene, view))
    if known and not any(is_constant(finding) for one in known for finding in one.run.findings):
        return known
    return known + [_walk(expression, reading, *guess) for guess in guesses]


def _walk(expression: Expression, reading: Reading, scene: Scene, view: TypeScope) -> WalkResult:
    run = TypeWalk(expression.text, TABLES, scene.clues)
    try:
        if reading == "verdict":
            run.verdict(expression.tree, view)
        else:
            run.value(expression.tree, msgspec.structs.replace(view, strict=False))
    except RecursionError:  # a user's shapes may be nested deeper than any sender's payload
        run = TypeWalk(expression.text, TABLES, scene.clues)
    return WalkResult(run, scene.events, scene.guessed)


def reached(expression: Expression, scenes: Sequence[Scene], views: Views) -> Views:
    """
    The views but for those in which the expression asks for another event: of ten thousand rules
    with `topic == …` each concerns one kind of event.
    """
    if len(scenes) == 1:
        return views
    needs = [need for need in needs_of(expression) if len(need.path) == 1]
    if not needs:
        return views
    met = tuple(
        view if view is not None and all(_meets(view.root, need) for need in needs) else None
        for view in views
    )
    return views if met == views or not any(met) else met


def _meets(roots: Type, need: FieldNeed) -> bool:
    kind = roots.fields.get(need.path[0])
    if kind is None or kind.texts is None or kind.kinds != TEXT:
        return True
    if need.is_equality:
        return not kind.texts.isdisjoint(need.values)
    return any(need.admits(text) for text in kind.texts)


def either(ways: Sequence[Views]) -> Views:
    """What is known, scene by scene, when one of these ways holds."""
    known = [[view for view in seen if view is not None] for seen in zip(*ways, strict=True)]
    return tuple(reduce(both, seen) if seen else None for seen in known)
