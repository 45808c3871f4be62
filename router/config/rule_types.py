"""Types of everything that a file's rules evaluate: conditions, definitions, keys, templates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec

from router.config import redaction
from router.config.alike import RulesAlike
from router.config.answers import SITE
from router.config.context import LoadContext
from router.config.language import Language, Written
from router.config.rule_schema import ConditionEntry, RuleEntry
from router.config.senders import EndpointSenders
from router.config.shared import hint_with_user
from router.expressions import Expression
from router.expressions.nodes import Node
from router.kinds import KINDS
from router.model.settings import OWN
from router.rules.specs import CompiledRule
from router.typing.combine import combined, is_constant
from router.typing.run import TypeFinding, span_of
from router.typing.scenes import Scene, Scenes, TypedSender
from router.typing.walk import (
    Reading,
    SceneIndex,
    Views,
    after_condition,
    either,
    kept,
    opened,
    walked,
    with_results,
)
from router.yaml_source import SourceText, within

Compiled = Mapping[int, Written]
"""The conditions of one rule by the identity of their texts."""
Inside = tuple[Literal["not", "any"], ...]
"""What a condition stands in, the innermost first."""
READINGS: Mapping[str, Reading] = {"'match'": "verdict", "'when'": "verdict", "'group'": "key"}
"""How the expressions of these places are read; all others as values."""
DEFINED_MAX = 200_000
"""Definitions by kinds of events that are looked at, in about two seconds; no more are judged."""


class RuleTexts(msgspec.Struct, frozen=True):
    """One rule as it stands in the file and as it was compiled, with all that it evaluates."""

    entry: RuleEntry
    rule: CompiledRule
    senders: tuple[TypedSender, ...]
    written: tuple[Written, ...]


class Typing:
    """Checks one file. `constant` are the conditions that are always true, by identity."""

    def __init__(
        self,
        context: LoadContext,
        language: Language,
        defines: Mapping[str, Expression],
        variables: Mapping[str, Any],
        senders: EndpointSenders,
    ) -> None:
        self.context = context
        self.language = language
        self.constant: set[int] = set()
        endpoints = context.file.endpoints.items if context.file.endpoints else ()
        self.scenes = Scenes({*endpoints, OWN}, defines, variables)
        self._defines = defines
        self._senders = senders
        self._clean: dict[tuple[int, str, str, str], bool] = {}
        self._opened: dict[int, tuple[Views, SceneIndex]] = {}
        self._users: dict[str, dict[int, Scene]] = {}
        self._kept: list[tuple[Scene, ...]] = []
        self._alike = RulesAlike()
        self._silent = True
        self._reported: set[tuple[int, str, int]] = set()
        self._rule_id: SourceText | None = None

    def check(self, rules: Sequence[RuleTexts]) -> None:
        """Every rule, key and answer, then the definitions against the events of their users."""
        for texts in rules:
            self._rule(texts)
        self._keys()
        self._answers()
        self._definitions()

    def _keys(self) -> None:
        """The dedupe keys and redacted fields, each for every event of its endpoint."""
        places = ("a dedupe key", redaction.PLACE)
        written = {id(w.text): w for w in self.language.written if w.place in places}
        for name, entry in self.context.file.endpoints or ():
            texts = [entry.dedupe.key] if entry.dedupe is not None else []
            texts += entry.redact.named_fields if entry.redact is not None else []
            for key in [written[id(text)] for text in texts if id(text) in written]:
                senders = self._senders.behind((name.value,)).senders
                self.check_expression(key, "key", self.scenes.of(senders, None))

    def _answers(self) -> None:
        """Those of endpoints; of a batch they read all of the body, of which no type is known."""
        written = [w for w in self.language.written if w.place == SITE.name]
        for name, entry in self.context.file.endpoints or ():
            senders = self._senders.behind((name.value,)).senders
            if entry.answer is not None and not any(one.batch is not None for one in senders):
                inside = range(entry.answer.node.start, entry.answer.node.end)
                for one in [w for w in written if w.text.node.start in inside]:
                    self.check_expression(one, "value", self.scenes.of(senders, None))

    def check_expression(
        self,
        written: Written,
        reading: Reading,
        scenes: Sequence[Scene],
        known: Callable[[], Views] | None = None,
    ) -> None:
        """
        One expression or template at its place in the file: what is wrong for all of these events,
        and what is surely a mistake for some of them. `known` is called only if there is anything
        to say.
        """
        for expression, base in written.expressions:
            self._used(expression, scenes)
            if self._is_clean(expression, reading, scenes, written.null):
                continue
            views = known() if known is not None else opened(scenes)
            if written.when is not None:
                views = kept(after_condition(written.when, views), views)
            found = walked(expression, reading, scenes, views, written.null)
            self._report(written.text, base, combined(found))

    # -- rules ----------------------------------------------------------------------------------

    def _rule(self, texts: RuleTexts) -> None:
        self._rule_id = texts.entry.id
        if not (scenes := self.scenes.of(texts.senders, texts.rule.events)):
            return
        likeness = self._alike.likeness(texts.rule, texts.written, scenes)
        if likeness in self._alike.right:
            return
        self._silent = True
        self._texts(texts, scenes)
        if self._silent and likeness is not None:
            self._alike.right.add(likeness)

    def _texts(self, texts: RuleTexts, scenes: tuple[Scene, ...]) -> None:
        compiled = {id(w.text): w for w in texts.written if w.place == "'match'"}
        entries = texts.entry.match or []
        before, index = self._scenes_of(scenes)
        conditions = RuleConditions(compiled, index)
        for at, entry in enumerate(entries):
            if at:
                before = kept(conditions.after(entries[at - 1], before), before)
            self._condition(entry, conditions, scenes, before)

        def known() -> Views:
            if not entries:
                return before
            return kept(conditions.after(entries[-1], before), before)

        types = {action.id: KINDS[action.kind].result.types for action in texts.rule.actions}
        for written in texts.written:
            if id(written.text) not in compiled:
                reading = READINGS.get(written.place, "value")
                if "results" in written.compiled.roots:
                    later = self.scenes.after(scenes, types)
                    views = partial(with_results, known, later)
                    self.check_expression(written, reading, later, views)
                else:
                    self.check_expression(written, reading, scenes, known)

    def _condition(
        self,
        entry: ConditionEntry,
        conditions: "RuleConditions",
        scenes: Sequence[Scene],
        views: Views,
        inside: Inside = (),
    ) -> None:
        """Check one condition, where this is known."""
        if entry.negated is not None:
            self._condition(entry.negated, conditions, scenes, views, ("not", *inside))
        for one in entry.any_of or ():
            self._condition(one, conditions, scenes, views, ("any", *inside))
            views = conditions.after(one, views, holds=False)
        if entry.test is not None and (test := conditions.test(entry)) is not None:
            self._used(test, scenes)
            tree, near = test.tree, conditions.index.reached(test, views)
            found = combined(walked(test, "verdict", scenes, near), whole=near is views)
            self._report(entry.test, 0, [with_consequence(f, tree, inside) for f in found])
            if any(f.code == "always-true" and f.span == span_of(tree) for f in found):
                self.constant.add(id(entry))

    def _scenes_of(self, scenes: Sequence[Scene]) -> tuple[Views, SceneIndex]:
        """What is known of each before anything has been read, and their index."""
        if (found := self._opened.get(id(scenes))) is None:
            found = self._opened[id(scenes)] = opened(scenes), SceneIndex(scenes)
        return found

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
        table, looked_at = self.context.file.define, 0
        for name, text in table or ():
            if (expression := self._defines.get(name.value)) is None:
                continue
            users = tuple(self._users.get(name.value, {}).values())
            self._kept.append(users)  # what is known of a tuple is kept by its identity
            scenes = users or self.scenes.of(self._senders.behind(None).senders, None)
            if (looked_at := looked_at + len(scenes)) > DEFINED_MAX:
                return
            self.check_expression(Written(text, expression, "'define'"), "value", scenes)

    # -- reporting --------------------------------------------------------------------------------

    def _is_clean(
        self, expression: Expression, reading: Reading, scenes: Sequence[Scene], null: str
    ) -> bool:
        """Whether nothing at all is found for any of these events, whatever the rule says."""
        key = (id(scenes), expression.text, reading, null)
        if (found := self._clean.get(key)) is None:
            seen = walked(expression, reading, scenes, opened(scenes), null)
            found = self._clean[key] = not any(one.run.findings for one in seen)
        return found

    def _report(self, text: SourceText, base: int, findings: Iterable[TypeFinding]) -> None:
        report = self.context.report
        for finding in findings:
            self._silent = False
            if report.full:
                return
            span = self.context.span(text, (base + finding.start, base + finding.end))
            key = (span[0], finding.code, id(text.node))
            if key in self._reported:
                continue
            self._reported.add(key)
            if finding.code == "nullable-template":
                self.context.nullable.add(text.node.start)
            # A shape that was learned, and is not here, may have known the name.
            doubted = finding.severity == "warning" or (
                self.context.kept and finding.code == "misspelt-field"
            )
            add = report.warning if doubted else report.error
            add(
                finding.code,
                finding.message,
                *span,
                hint_with_user(
                    self.context, span[0], within(finding.hint, text.node), self._rule_id
                ),
            )


def with_consequence(finding: TypeFinding, whole: Node, inside: Inside) -> TypeFinding:
    """The same, with what follows for its rule if the whole condition always gives the same."""
    if not is_constant(finding) or finding.span != span_of(whole):
        return finding
    hint = "; ".join(filter(None, (_consequence(finding, inside), finding.hint)))
    return msgspec.structs.replace(finding, advice=hint or None)


def _consequence(finding: TypeFinding, inside: Inside) -> str:
    holds, certain = finding.code != "never-true", finding.code == "always-true"
    said: list[str] = []
    for place in inside:
        if place == "not":
            holds = not holds
            which = "always holds" if certain else "is true of every value that comes here"
            said.append(f"its `not` {which if holds else 'never holds'}")
        elif not holds:
            return "so " + " and ".join([*said, "it adds nothing to its `any`"])
        elif certain:
            said.append("its `any` holds whatever else stands there")
        else:
            return ""
    if not holds:
        said.append("the rule never matches")
    elif not inside:
        said.append(
            "it decides nothing: leave it out or mend it"
            if certain
            else "it asks only whether the value is there"
        )
    return "so " + " and ".join(said)


class RuleConditions(msgspec.Struct, frozen=True):
    """The conditions of one rule as they were compiled, and the index of its scenes."""

    compiled: Compiled
    index: SceneIndex

    def test(self, entry: ConditionEntry) -> Expression | None:
        """The expression of a condition that is one, if it is right."""
        written = self.compiled.get(id(entry.test)) if entry.test is not None else None
        found = None if written is None else written.compiled
        return found if isinstance(found, Expression) else None

    def after(self, entry: ConditionEntry, views: Views, *, holds: bool = True) -> Views:
        """What is known once a condition has held, or has not."""
        if entry.negated is not None:
            return self.after(entry.negated, views, holds=not holds)
        if entry.any_of is not None:
            ways: list[Views] = []
            for one in entry.any_of:
                ways += [self.after(one, views)] if holds else []
                views = self.after(one, views, holds=False)
            return either(ways) if ways else views
        if (test := self.test(entry)) is None:
            return views
        return after_condition(
            test, self.index.reached(test, views) if holds else views, holds=holds
        )
