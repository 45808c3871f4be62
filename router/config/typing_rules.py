"""Types of everything that a file's rules evaluate: conditions, definitions, keys, templates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from router.config.context import LoadContext
from router.config.endpoints import provider_of
from router.config.language import Language, Written
from router.config.schema import ConditionEntry, RuleEntry
from router.config.shared import told_with_its_user
from router.config.typing_events import Scene, Scenes
from router.config.typing_reach import check_reach
from router.expressions import Expression, FieldNeed, needs_of
from router.expressions.types import (
    TABLES,
    Type,
    TypeFinding,
    TypeScope,
    TypeWalk,
    when_false,
    when_true,
)
from router.expressions.types.combine import WalkResult, combined, is_constant
from router.expressions.types.lattice import TEXT
from router.expressions.types.narrow import both
from router.expressions.types.run import span_of
from router.expressions.types.verdicts import ALWAYS_TRUE
from router.providers import Provider
from router.rules.specs import CompiledRule
from router.yaml_source import SourceText

Reading = Literal["verdict", "value"]
Views = tuple[TypeScope | None, ...]
"""What is known in each scene; None where the rule cannot match."""
Compiled = Mapping[int, Written]
"""The conditions of one rule by the identity of their texts."""
VERDICTS = frozenset({"'match'", "'when'"})
"""The places whose expressions are conditions."""


class RuleTexts(msgspec.Struct, frozen=True):
    """One rule as it stands in the file and as it was compiled, with all that it evaluates."""

    entry: RuleEntry
    rule: CompiledRule
    providers: tuple[Provider, ...]
    written: tuple[Written, ...]


class Typing:
    """Checks one file; `everybody` are the providers of all its endpoints."""

    def __init__(
        self,
        context: LoadContext,
        language: Language,
        defines: Mapping[str, Expression],
        variables: Mapping[str, Any],
        everybody: Iterable[Provider],
    ) -> None:
        self.context = context
        self.language = language
        self.scenes = Scenes(context, defines, variables)
        self._defines = defines
        self._everybody = tuple(everybody)
        self._clean: dict[tuple[int, str, str], bool] = {}
        self._users: dict[str, dict[int, Scene]] = {}
        self._kept: list[tuple[Scene, ...]] = []
        self._always: set[int] = set()
        self._told: set[tuple[int, str, int]] = set()
        self._rule_id: SourceText | None = None

    def check(self, rules: Sequence[RuleTexts]) -> None:
        """Every rule and key, then the definitions against the events of all that use them."""
        for texts in rules:
            self._rule(texts)
        self._keys()
        self._definitions()
        pairs = [(texts.entry, texts.rule) for texts in rules]
        check_reach(self.context, pairs, lambda entry: id(entry) in self._always)

    def _keys(self) -> None:
        """The dedupe keys, each for every event of its endpoint."""
        written = {id(w.text): w for w in self.language.written if w.place == "a dedupe key"}
        for _, entry in self.context.file.endpoints or ():
            key = entry.dedupe.key if entry.dedupe is not None else None
            provider = provider_of(self.context, entry)
            if key is not None and id(key) in written and provider is not None:
                self.check_expression(written[id(key)], "value", self.scenes.of((provider,), None))

    def check_expression(
        self,
        written: Written,
        reading: Reading,
        scenes: Sequence[Scene],
        known: Callable[[], Views] | None = None,
    ) -> None:
        """
        One expression or template at its place in the file: what is wrong for all of these events,
        and what is surely a mistake for some of them. `known` is asked only if there is anything
        to say.
        """
        for expression, base in _expressions(written):
            self._used(expression, scenes)
            if self._is_clean(expression, reading, scenes):
                continue
            views = known() if known is not None else _open(scenes)
            seen = _walked(expression, reading, scenes, views)
            self._report(written.text, base, combined(seen))

    # -- rules ----------------------------------------------------------------------------------

    def _rule(self, texts: RuleTexts) -> None:
        self._rule_id = texts.entry.id
        scenes = self.scenes.of(texts.providers, texts.rule.events)
        if not scenes:
            return
        compiled = {id(w.text): w for w in texts.written if w.place == "'match'"}
        entries = texts.entry.match or []
        before = _open(scenes)
        for at, entry in enumerate(entries):
            if at:
                before = _some(known_after(entries[at - 1], compiled, before), before)
            self._condition(entry, compiled, scenes, before)

        def known() -> Views:
            return _some(known_after(entries[-1], compiled, before), before) if entries else before

        for written in texts.written:
            if id(written.text) not in compiled:
                reading: Reading = "verdict" if written.place in VERDICTS else "value"
                if "results" in written.compiled.roots:
                    kinds = {action.id: action.kind for action in texts.rule.actions}
                    self.check_expression(written, reading, self.scenes.after(scenes, kinds))
                else:
                    self.check_expression(written, reading, scenes, known)

    def _condition(
        self, entry: ConditionEntry, compiled: Compiled, scenes: Sequence[Scene], views: Views
    ) -> None:
        """Check one condition, where this is known."""
        if entry.negated is not None:
            self._condition(entry.negated, compiled, scenes, views)
        for one in entry.any_of or ():
            self._condition(one, compiled, scenes, views)
            views = known_after(one, compiled, views, holds=False)
        written = compiled.get(id(entry.test)) if entry.test is not None else None
        if written is not None and isinstance(written.compiled, Expression):
            self._used(written.compiled, scenes)
            tree = written.compiled.tree
            reached = _reached(written.compiled, scenes, views)
            seen = _walked(written.compiled, "verdict", scenes, reached)
            found = combined(seen, whole=reached is views)
            self._report(written.text, 0, found)
            if any(f.code == ALWAYS_TRUE and f.span == span_of(tree) for f in found):
                self._always.add(id(entry))

    # -- definitions ----------------------------------------------------------------------------

    def _used(self, expression: Expression, scenes: Sequence[Scene]) -> None:
        """Note which definitions these events need, through others too."""
        pending = [field for root, field in expression.uses if root == "def"]
        done: set[str] = set()
        while pending:
            name = pending.pop()
            if name in done or name not in self._defines:
                continue
            done.add(name)
            users = self._users.setdefault(name, {})
            if all(id(scene) in users for scene in scenes):
                continue  # and so are those that it needs: they were noted with it
            users.update((id(scene), scene) for scene in scenes)
            pending += [field for root, field in self._defines[name].uses if root == "def"]

    def _definitions(self) -> None:
        table = self.context.file.define
        for name, text in table or ():
            expression = self._defines.get(name.value)
            if expression is None:
                continue
            users = tuple(self._users.get(name.value, {}).values())
            self._kept.append(users)  # what is known of a tuple is kept by its identity
            scenes = users or self.scenes.of(self._everybody, None)
            written = Written(text, expression, "'define'")
            self.check_expression(written, "value", scenes)

    # -- telling --------------------------------------------------------------------------------

    def _is_clean(self, expression: Expression, reading: Reading, scenes: Sequence[Scene]) -> bool:
        """Whether nothing at all is found for any of these events, whatever the rule says."""
        key = (id(scenes), expression.text, reading)
        found = self._clean.get(key)
        if found is None:
            seen = _walked(expression, reading, scenes, _open(scenes))
            found = self._clean[key] = not any(one.run.findings for one in seen)
        return found

    def _report(self, text: SourceText, base: int, findings: Iterable[TypeFinding]) -> None:
        report = self.context.report
        for finding in findings:
            if report.full:
                return
            span = self.context.span(text, (base + finding.start, base + finding.end))
            key = (span[0], finding.code, id(text.node))
            if key in self._told:
                continue
            self._told.add(key)
            tell = report.error if finding.severity == "error" else report.warning
            hint = told_with_its_user(self.context, span[0], finding.hint, self._rule_id)
            tell(finding.code, finding.message, *span, hint)


def known_after(
    entry: ConditionEntry, compiled: Compiled, views: Views, *, holds: bool = True
) -> Views:
    """What is known once a condition has held, or has not."""
    if entry.negated is not None:
        return known_after(entry.negated, compiled, views, holds=not holds)
    if entry.any_of is not None:
        return _after_any(entry.any_of, compiled, views, holds=holds)
    written = compiled.get(id(entry.test)) if entry.test is not None else None
    if written is None or not isinstance(written.compiled, Expression):
        return views
    tree, run = written.compiled.tree, TypeWalk(written.compiled.text, TABLES)
    narrow = when_true if holds else when_false
    return tuple(None if view is None else narrow(run, tree, view) for view in views)


def _after_any(
    entries: Iterable[ConditionEntry], compiled: Compiled, views: Views, *, holds: bool
) -> Views:
    ways: list[Views] = []
    for entry in entries:
        if holds:
            ways.append(known_after(entry, compiled, views))
        views = known_after(entry, compiled, views, holds=False)
    if not holds:
        return views
    return tuple(_joined([way[at] for way in ways]) for at in range(len(views)))


def _expressions(written: Written) -> list[tuple[Expression, int]]:
    compiled = written.compiled
    if isinstance(compiled, Expression):
        return [(compiled, 0)]
    return [
        (part, compiled.offset_of(at))
        for at, part in enumerate(compiled.parts)
        if isinstance(part, Expression)
    ]


def _some(views: Views, before: Views) -> Views:
    """What is known, unless nothing can match any more: the rest is still worth a look."""
    return views if any(views) else before


def _open(scenes: Sequence[Scene]) -> Views:
    return tuple(TypeScope(scene.roots) for scene in scenes)


def _walked(
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


def _reached(expression: Expression, scenes: Sequence[Scene], views: Views) -> Views:
    """
    The views but for those in which the expression asks for another event: of ten thousand rules
    with `topic == …` each concerns one kind of event.
    """
    if len(scenes) == 1:
        return views
    needs = [need for need in needs_of(expression) if len(need.path) == 1]
    if not needs:
        return views
    reached = tuple(
        view if view is not None and all(_meets(view.root, need) for need in needs) else None
        for view in views
    )
    return views if reached == views or not any(reached) else reached


def _meets(roots: Type, need: FieldNeed) -> bool:
    kind = roots.fields.get(need.path[0])
    if kind is None or kind.texts is None or kind.kinds != TEXT:
        return True
    if not need.prefixes:
        return not kind.texts.isdisjoint(need.values)
    return any(need.admits(text) for text in kind.texts)


def _joined(ways: Sequence[TypeScope | None]) -> TypeScope | None:
    found: TypeScope | None = None
    for way in ways:
        if way is not None:
            found = way if found is None else both(found, way)
    return found
