"""One expression over several scenes: what is known in each, and what a walk finds there."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Literal

import msgspec

from router.expressions import Expression, FieldNeed, needs_of
from router.expressions.nodes import Node, path_of
from router.typing.combine import WalkResult, is_constant
from router.typing.infer import TABLES
from router.typing.lattice import ABSENT, BOOLEAN, NOTHING, NUMBER, TEXT, Type
from router.typing.narrow import both, when_false, when_true
from router.typing.run import Fact, TypeScope, TypeWalk
from router.typing.scenes import Scene, of_results

Reading = Literal["verdict", "value", "key"]
Views = Mapping[int, TypeScope]
"""What is known in each scene, by its number; scenes where the rule cannot match are left out."""


def kept(views: Views, before: Views) -> Views:
    """What is known, unless nothing can match any more: the rest is still worth a look."""
    return views or before


def opened(scenes: Sequence[Scene]) -> Views:
    """What is known before anything has been read."""
    return {at: TypeScope(scene.roots, defines=scene.defines) for at, scene in enumerate(scenes)}


def walked(
    expression: Expression,
    reading: Reading,
    scenes: Sequence[Scene],
    views: Views,
    null: str = "",
) -> list[WalkResult]:
    """
    Each scene by itself; those of no catalogue only where they can change anything. `null` is what
    follows if the value is null; nothing bad if it is empty.
    """
    known: list[WalkResult] = []
    guesses: list[tuple[Scene, TypeScope]] = []
    for at, view in views.items():
        if (scene := scenes[at]).guessed:
            guesses.append((scene, view))
        else:
            known.append(_walk(expression, reading, scene, view, null))
    if known and not any(is_constant(finding) for one in known for finding in one.run.findings):
        return known
    return known + [_walk(expression, reading, *guess, null) for guess in guesses]


def _walk(
    expression: Expression, reading: Reading, scene: Scene, view: TypeScope, null: str
) -> WalkResult:
    run = TypeWalk(expression.text, TABLES, scene.clues)
    try:
        if reading == "verdict":
            run.verdict(expression.tree, view)
        else:
            plain = msgspec.structs.replace(view, strict=False, facts=tuple(_of_paths(view.facts)))
            kind = run.value(expression.tree, plain)
            if reading == "key" and expression.tree.kind in ("select_list", "select_hash"):
                for part in expression.tree.children:
                    _check_null(run, part, run.value(part, plain), plain, null, ABSENT)
            else:
                _check_null(run, expression.tree, kind, plain, null)
    except RecursionError:  # a user's shapes may be nested deeper than any sender's payload
        run = TypeWalk(expression.text, TABLES, scene.clues)
    return WalkResult(run, scene.events, scene.guessed)


def _of_paths(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Those of the values of paths: these alone give the same in both readings."""
    return (fact for fact in facts if not fact.judged and path_of(fact.node) is not None)


def _check_null(
    run: TypeWalk, node: Node, kind: Type, view: TypeScope, null: str, lacking: int = NOTHING
) -> None:
    """A value that must not be null (or only not absent), and of which it is stated that it may."""
    if not null or not _nullable(kind, lacking) or run.found_within(node):
        return
    meant = view.defined(node)  # of a definition it is known what holds anywhere, not here
    if meant is not None and not _nullable(run.inside(meant).value(meant.tree, view), lacking):
        return
    said = run.source(node)
    instead = f"default({said}, '')" if kind.kinds & TEXT else f"default({said}, …)"
    message = f"{said} may be {'absent' if lacking == ABSENT else 'null or absent'}; {null}"
    run.warn("nullable-template", message, node, f"give a fallback: {instead}")


_SHOWN = TEXT | NUMBER | BOOLEAN
"""What a text can show: of a list or an object there is more to say than that it may be null."""


def _nullable(kind: Type, lacking: int) -> bool:
    return kind.stated and bool(kind.kinds & lacking) and bool(kind.kinds & _SHOWN)


def after_condition(expression: Expression, views: Views, *, holds: bool = True) -> Views:
    """What is known once the condition has held, or has not."""
    narrow, run = when_true if holds else when_false, TypeWalk(expression.text, TABLES)
    after = ((at, narrow(run, expression.tree, view)) for at, view in views.items())
    return {at: view for at, view in after if view is not None}


def with_results(known: Callable[[], Views], scenes: Sequence[Scene]) -> Views:
    """What is known, with the results that these scenes have."""
    return {
        at: msgspec.structs.replace(view, root=of_results(view.root, scenes[at].roots))
        for at, view in known().items()
    }


class SceneIndex:
    """
    Finds the scenes in which a condition can hold by the event it asks for: of ten thousand rules
    with `topic == …` each concerns one kind of event.
    """

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self._scenes = scenes
        self._texts: dict[str, tuple[set[int], dict[str, set[int]]]] = {}

    def reached(self, expression: Expression, views: Views) -> Views:
        """The views but for those in which the expression asks for another event; all if none."""
        if len(views) == 1:
            return views
        needs = [need for need in needs_of(expression) if len(need.path) == 1]
        if not needs:
            return views
        met = reduce(set.__and__, map(self._meeting, needs))
        near = {
            at: view
            for at in sorted(met & views.keys())
            if all(_meets((view := views[at]).root, need) for need in needs)
        }
        return near if 0 < len(near) < len(views) else views

    def _meeting(self, need: FieldNeed) -> set[int]:
        other, by_text = self._of_root(need.path[0])
        if need.is_equality:
            wanted = (by_text.get(one, ()) for one in need.values if isinstance(one, str))
            return other.union(*wanted)
        return other.union(*(where for text, where in by_text.items() if need.admits(text)))

    def _of_root(self, name: str) -> tuple[set[int], dict[str, set[int]]]:
        """The scenes by the constants that this root can be there, and those where it has none."""
        if (found := self._texts.get(name)) is None:
            found = self._texts[name] = set(), {}
            for at, scene in enumerate(self._scenes):
                kind = scene.roots.fields.get(name)
                if kind is None or kind.texts is None or kind.kinds != TEXT:
                    found[0].add(at)
                else:
                    for text in kind.texts:
                        found[1].setdefault(text, set()).add(at)
        return found


def _meets(roots: Type, need: FieldNeed) -> bool:
    """Whether it still can, after all that is known."""
    kind = roots.fields.get(need.path[0])
    if kind is None or kind.texts is None or kind.kinds != TEXT:
        return True
    if need.is_equality:
        return not kind.texts.isdisjoint(need.values)
    return any(need.admits(text) for text in kind.texts)


def either(ways: Iterable[Views]) -> Views:
    """What is known, scene by scene, when one of these ways holds."""
    found: dict[int, list[TypeScope]] = {}
    for way in ways:
        for at, view in way.items():
            found.setdefault(at, []).append(view)
    return {at: reduce(both, found[at]) for at in sorted(found)}
