"""A test's `expect`: every name and key checked against the file's rules and actions."""

import re
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from router.config.context import LoadContext
from router.config.matchers import MatcherCompiler
from router.config.rule_schema import RuleEntry
from router.config.snapshots import read_snapshots, snapshots_path
from router.config.trial_schema import CallEntry, ExpectedAnswerEntry, ExpectEntry, TrialEntry
from router.kinds import KINDS
from router.model.job import ActionKind
from router.model.trial import ActionKey, Expected, ExpectedAnswer, ExpectedCall, Snapshot, Step
from router.rules.explain import items_of
from router.rules.specs import CompiledRule
from router.yaml_source import Sequence, SourceText, Table, shown

SKIPPED = ("skipped: event", "skipped: endpoint", "skipped: otherwise")
"""Parts of a rule's head that may stand in the way, in the words of `because`."""
ORDERED_MIN = 2
_ITEM = re.compile(r"match\[([0-9]{1,6})\]")


class Expectations:
    """Compiles what tests expect of the rules and actions of a file."""

    def __init__(self, context: LoadContext, rules: tuple[CompiledRule, ...]) -> None:
        self.context = context
        self._bad = partial(context.error, "bad-expectation")
        self._matchers = MatcherCompiler(context)
        self.rules = {rule.id: rule for rule in rules}
        self.kinds = {rule.id: {a.id: a.kind for a in rule.actions} for rule in rules}
        self._partly = {e.id.value for e in context.file.rules or () if e.id and _is_partly_read(e)}

    def rule(self, name: SourceText) -> CompiledRule | None:
        """The rule that a text names; reported if there is none."""
        if name.value not in self.rules:
            self.context.unknown("unknown-rule", "rule", name, self.rules)
        return self.rules.get(name.value)

    def action(self, name: SourceText) -> tuple[ActionKey, ActionKind] | None:
        """The action that a text written `rule/action` names; reported if there is none."""
        rule, _, action = name.value.partition("/")
        if (actions := self.kinds.get(rule)) is None:
            known = [f"{r}/{a}" for r, found in self.kinds.items() for a in found]
            self.context.unknown("unknown-rule", "rule and action", name, known)
            return None
        if (kind := actions.get(action)) is None and rule not in self._partly:
            known = [f"{rule}/{a}" for a in actions]
            self.context.unknown("unknown-action", "action", name, known)
        return None if kind is None else ((rule, action), kind)

    def compile(self, trial: TrialEntry, sends: tuple[Step, ...]) -> Expected:
        """What this test expects; of no key at all nothing could fail, which is reported."""
        if (entry := trial.expect) is None:
            return Expected()
        keys = [key for key in ExpectEntry.__struct_fields__ if key not in ("node", "broken")]
        if not entry.broken and all(getattr(entry, key) in (None, False) for key in keys):
            self._bad("nothing is expected, so this test could not fail", trial.key_at("expect"))
        return Expected(
            status=self._statuses(trial, sends),
            matched=self._rules(entry.matched),
            shadow=self._rules(entry.shadow),
            because=self._because(entry),
            dead=self._jobs(entry.dead),
            cancelled=self._jobs(entry.cancelled),
            calls=self._calls(entry.calls),
            answers=self._answers(trial, sends),
            order=self._order(entry),
            snapshot=self._snapshot(trial) if entry.snapshot else None,
        )

    def _statuses(self, trial: TrialEntry, sends: tuple[Step, ...]) -> tuple[int, ...] | None:
        if (entry := trial.expect) is None or entry.status is None:
            return None
        for status in entry.status:
            if status not in range(100, 600):
                self.context.error("bad-value", f"{status} is no HTTP status", entry.at("status"))
        self._one_for_each(trial, sends, "status", "statuses", len(entry.status))
        return tuple(entry.status)

    def _one_for_each(
        self, trial: TrialEntry, sends: tuple[Step, ...], key: str, several: str, count: int
    ) -> None:
        """Report a list that has neither one item nor one for each delivery."""
        if any(step.broken for step in trial.send or ()) or trial.expect is None:
            return  # how many are sent is not known
        sent, at = sum(step.requests for step in sends), trial.expect.at(key)
        if isinstance(at, Sequence) and count not in (1, sent):
            self._bad(
                f"{count} {several} are expected of {sent} deliveries",
                at,
                f"one {key} stands for all, a list has one for each",
            )

    def _answers(self, trial: TrialEntry, sends: tuple[Step, ...]) -> tuple[ExpectedAnswer, ...]:
        if (entry := trial.expect) is None or entry.answer is None:
            return ()
        self._one_for_each(trial, sends, "answer", "answers", len(entry.answer))
        return tuple(self._answer(one) for one in entry.answer)

    def _answer(self, entry: ExpectedAnswerEntry) -> ExpectedAnswer:
        given = [key for key in ExpectedAnswer.__struct_fields__ if entry.has(key)]
        if not given and not entry.broken:
            self._bad("nothing is expected of this answer", entry.node)
        if entry.status is not None and entry.status not in range(100, 600):
            message = f"{entry.status} is no HTTP status"
            self.context.error("bad-value", message, entry.at("status"))
        values = {key: getattr(entry, key) for key in given if getattr(entry, key) is not None}
        status = values.pop("status", None)
        found = {key: self._matchers.field(entry, key, value) for key, value in values.items()}
        return ExpectedAnswer(status, **found)

    def _rules(self, names: list[SourceText] | None) -> frozenset[str] | None:
        if names is None:
            return None
        for name in names:
            self.rule(name)
        return frozenset(name.value for name in names)

    # -- why a rule did not match ---------------------------------------------------------------

    def _because(self, entry: ExpectEntry) -> dict[str, str]:
        found = {}
        for name, reason in entry.because or ():
            rule = self.rule(name)
            text = " ".join(reason.value.split())
            if rule is not None and text not in SKIPPED:
                self._reason(rule, text, reason)
            if entry.matched and name.value in {m.value for m in entry.matched}:
                self._bad(f"'{name.shown}' is expected under 'matched' too", name)
            found[name.value] = text
        return found

    def _reason(self, rule: CompiledRule, text: str, at: SourceText) -> None:
        """A reason that can come: a number or a text of what the rule's `match` holds."""
        if (item := _ITEM.fullmatch(text)) and int(item[1]) >= len(rule.match):
            message = f"the rule '{rule.id}' has no {text}"
            self._bad(message, at, f"its 'match' has {len(rule.match)} items, numbered from 0")
        elif not item:
            known = list(dict.fromkeys(_texts(rule)))
            if text not in known:
                message = f"nothing of the rule '{rule.id}' reads '{shown(text)}'"
                texts = f" or one of its texts: {', '.join(known[:3])}" if known else ""
                usual = f"write match[0], {SKIPPED[0]!r}{texts}"
                self._bad(message, at, self.context.suggest.hint(text, known) or usual)

    # -- actions --------------------------------------------------------------------------------

    def _jobs(self, names: list[SourceText] | None) -> frozenset[ActionKey] | None:
        if names is None:
            return None
        actions = (self.action(name) for name in names)
        return frozenset(action[0] for action in actions if action is not None)

    def _calls(self, table: Table[CallEntry] | None) -> dict[ActionKey, ExpectedCall]:
        named = ((name, entry, self.action(name)) for name, entry in table or ())
        return {
            at[0]: self._call(name, entry, at[1]) for name, entry, at in named if at is not None
        }

    def _call(self, name: SourceText, entry: CallEntry, kind: ActionKind) -> ExpectedCall:
        has = KINDS[kind].calls
        for key in entry.chosen.keys() - has:
            self._bad(
                f"'{name.value}' is {KINDS[kind].title} action: its calls have no '{key}'",
                entry.key_at(key),
                f"they have {', '.join(has)}",
            )
        fields = {k: self._matchers.field(entry, k, value) for k, value in entry.chosen.items()}
        if entry.times is not None and entry.times < 0:
            self.context.error("bad-value", "'times' cannot be below zero", entry.at("times"))
        line, _ = self.context.report.source.position(name.node.start)
        return ExpectedCall(entry.times, fields, line, self._delays(entry))

    def _delays(self, entry: CallEntry) -> tuple[int, ...] | int | None:
        if (delays := entry.delays) is None:
            return None
        return tuple(delays) if isinstance(entry.at("delays"), Sequence) else delays[0]

    def _snapshot(self, trial: TrialEntry) -> Snapshot | None:
        if not self.context.tested:
            return None
        name = "" if trial.name is None else trial.name.value
        return Snapshot(self._snapshots.get(name))

    @cached_property
    def _snapshots(self) -> dict[str, Any]:
        path = snapshots_path(Path(self.context.report.source.path).absolute())
        self.context.test_data.add(str(path))
        return read_snapshots(path)

    def _order(self, entry: ExpectEntry) -> tuple[ActionKey, ...]:
        if entry.order is not None and len(entry.order) < ORDERED_MIN:
            self._bad("an order is one of two actions at least", entry.at("order"))
        found = (self.action(name) for name in entry.order or ())
        return tuple(action[0] for action in found if action is not None)


def _texts(rule: CompiledRule) -> Iterator[str]:
    """Every text of a rule that can stand in the way: its items and their leaves."""
    for item in items_of(rule, {}):
        yield " ".join(item.source.split())
        yield from (" ".join(leaf.text.split()) for leaf in item.leaves)


def _is_partly_read(entry: RuleEntry) -> bool:
    """Whether some action of a rule could not be read: tests may name it all the same."""
    written = entry.at("actions")
    count = len(written.items) if isinstance(written, Sequence) else 1
    return len(entry.actions or ()) < count or any(a.broken for a in entry.actions or ())
