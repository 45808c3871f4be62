"""
Two rulesets beside each other: what their rules say, and what deliveries of the past would make of
the difference. Nothing is sent, and no secret is needed: every one is its own name.
"""

from collections.abc import Collection, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any, Literal

import msgspec

from router.errors import EvaluationError, RenderError
from router.expressions import JSON
from router.expressions.changes import Change, changes
from router.model.delivery import Delivery, DeliveryEvent, full_name
from router.model.job import Job, NewJob, committed
from router.model.settings import Target
from router.rehearsal.plain import MORE, plain
from router.rehearsal.senders import URL
from router.rules.live import LiveRuleset, SecretValues, url_secrets
from router.rules.render import Material, render
from router.rules.ruleset import Ruleset
from router.rules.scope import event_scope
from router.rules.specs import CompiledAction, CompiledRule

Kind = Literal["added", "removed", "changed"]
EffectKind = Literal["newly matches", "stops matching", "sends something else"]
_NOT_COMPARED = frozenset({"id", "about", "sources"})
_JOB = "job_" + "0" * 26


class RuleChange(msgspec.Struct, frozen=True):
    """One rule that only one side has, or that they say differently."""

    rule: str
    kind: Kind
    changes: tuple[Change, ...] = ()


class CallChange(msgspec.Struct, frozen=True):
    """One action that would send something else, or that only one side has."""

    action: str
    kind: Kind
    changes: tuple[Change, ...] = ()


class Effect(msgspec.Struct, frozen=True):
    """
    What the difference makes of one event (of the first of a batch, for `per: delivery`).

    `shadow`: the rule that newly matches, or no longer does, would not have acted.
    """

    rule: str
    kind: EffectKind
    delivery: str
    received_at: int
    index: int
    event: str
    shadow: bool = False
    calls: tuple[CallChange, ...] = ()


# -- what they say


def rule_changes(old: Ruleset, new: Ruleset) -> tuple[RuleChange, ...]:
    """The rules that differ, in the order of the new file, then those that are gone."""
    before = {rule.id: _comparable(rule, old.folder) for rule in old.rules}
    after = {rule.id: _comparable(rule, new.folder) for rule in new.rules}
    found = []
    for name, new_fields in after.items():
        if name not in before:
            found.append(RuleChange(name, "added"))
        elif differences := tuple(changes(before[name], new_fields)):
            found.append(RuleChange(name, "changed", differences))
    return (*found, *(RuleChange(name, "removed") for name in before if name not in after))


def setting_changes(old: Ruleset, new: Ruleset) -> tuple[Change, ...]:
    """What else differs and may change what a rule does: names it can use, and where from."""
    return tuple(changes(_settings(old), _settings(new)))


def _comparable(rule: CompiledRule, folder: str) -> dict[str, JSON]:
    fields = plain(msgspec.structs.replace(rule, match=(), actions=()), folder)
    fields |= {
        "from": "all" if rule.sources is None else list(rule.sources),
        "match": [condition.source for condition in rule.match],
        "actions": {action.id: _action(action, folder) for action in rule.actions},
    }
    return {name: value for name, value in fields.items() if name not in _NOT_COMPARED}


def _action(action: CompiledAction, folder: str) -> dict[str, JSON]:
    """
    The action's fields by their path in the file. Its target is a name: a change of a target is
    shown once, as one of the target.
    """
    fields: dict[str, JSON] = plain(action, folder)
    spec = fields.pop("spec")
    for name, value in msgspec.structs.asdict(action.spec).items():
        if isinstance(value, Target):
            spec[name] = value.name
    if "body_kind" in spec:
        spec[spec.pop("body_kind")] = spec.pop("body", None)
    return fields | (spec if action.id == action.kind else {action.kind: spec})


def _settings(ruleset: Ruleset) -> dict[str, JSON]:
    named = {
        "define": ruleset.defines,
        "vars": ruleset.variables,
        "targets": ruleset.targets,
        "endpoints": ruleset.endpoints,
        "dedupe_keys": ruleset.dedupe_keys,
        "answers": ruleset.answers,
    }
    return {name: plain(value, ruleset.folder) for name, value in named.items()}


# -- what they do


class Comparison:
    """Holds deliveries of the past against both."""

    def __init__(self, old: Ruleset, new: Ruleset) -> None:
        self.new = new
        self._sides = (_Side(old), _Side(new))

    def effects(self, delivery: Delivery, indexes: Collection[int] | None) -> Iterator[Effect]:
        """
        What would be otherwise; `indexes` are those of the events that were routed (None: all).
        """
        before, after = (side.runs(delivery, indexes) for side in self._sides)
        for key in sorted({*before, *after}, key=lambda key: (key[1], key[0])):
            old, new = before.get(key), after.get(key)
            if new is not None and (old is None or (new.acts and not old.acts)):
                yield _event_effect(new, "newly matches", delivery)
            elif old is not None and (new is None or (old.acts and not new.acts)):
                yield _event_effect(old, "stops matching", delivery)
            elif old is not None and new is not None and new.acts:
                calls = tuple(_call_changes(self._sides[0], old, self._sides[1], new, delivery))
                if calls:
                    yield _event_effect(new, "sends something else", delivery, calls)


class _RuleRun(msgspec.Struct, frozen=True):
    """A rule that matches an event, or under `per: delivery` those of a batch."""

    rule: CompiledRule
    events: tuple[DeliveryEvent, ...]

    @property
    def acts(self) -> bool:
        return self.rule.mode != "shadow"


_Key = tuple[str, int]


class _Side:
    """One of the rulesets, ready."""

    def __init__(self, ruleset: Ruleset) -> None:
        urls = frozenset(url_secrets(ruleset))
        # Each secret is its own name, so that none is needed and none is shown.
        values = {
            name: (f"{URL}{name}" if name in urls else f"secret.{name}").encode()
            for name in ruleset.secrets
        }
        self.live = LiveRuleset(ruleset, SecretValues(values, {}))
        self.folder = ruleset.folder

    def runs(self, delivery: Delivery, indexes: Collection[int] | None) -> dict[_Key, _RuleRun]:
        """By rule and event (-1 for a whole batch)."""
        ruleset, found = self.live.ruleset, dict[_Key, _RuleRun]()
        provider = ruleset.providers.get(delivery.provider)
        if provider is None or delivery.endpoint not in ruleset.endpoints:
            return found
        reading, shared = provider.read_stored(delivery), ruleset.roots(delivery)
        for read in reading.events if reading.state == "routed" else ():
            if indexes is not None and read.index not in indexes:
                continue
            event = read.event()
            scope = event_scope(shared, delivery, event, ruleset.defines)
            matches = self.live.matcher.match(delivery.endpoint, event.name, event.action, scope)
            for rule in (*matches.live, *matches.paused, *matches.shadow):
                key = (rule.id, -1 if rule.per_delivery else event.index)
                earlier = found[key].events if key in found else ()
                found[key] = _RuleRun(rule, (*earlier, event))
        return found

    def call(self, action: CompiledAction, run: _RuleRun, delivery: Delivery) -> JSON:
        """What it would send, or that it cannot; what depends on a result, as written."""
        covered = run.events if run.rule.per_delivery else ()
        job = _job(action, run, delivery)
        material = Material(self.live, action, job, delivery, run.events[0], {}, covered)
        try:
            return plain(render(material), self.folder)
        except (RenderError, EvaluationError) as error:
            return {"cannot be rendered": str(error), "as written": plain(action, self.folder)}


def _event_effect(
    run: _RuleRun, kind: EffectKind, delivery: Delivery, calls: tuple[CallChange, ...] = ()
) -> Effect:
    event = run.events[0]
    name = full_name(event.name, event.action)
    return Effect(
        run.rule.id,
        kind,
        delivery.id,
        delivery.received_at,
        event.index,
        name,
        not run.acts,
        calls,
    )


def _call_changes(
    old: _Side, before: _RuleRun, new: _Side, after: _RuleRun, delivery: Delivery
) -> Iterator[CallChange]:
    olds = {action.id: action for action in before.rule.actions}
    news = {action.id: action for action in after.rule.actions}
    for name in dict.fromkeys((*olds, *news)):
        if name not in news or name not in olds:
            yield CallChange(name, "added" if name in news else "removed")
            continue
        calls = old.call(olds[name], before, delivery), new.call(news[name], after, delivery)
        if found := tuple(islice(changes(*calls), MORE)):
            yield CallChange(name, "changed", found)


def _job(action: CompiledAction, run: _RuleRun, delivery: Delivery) -> Job:
    """One and the same for both sides, so that only what the rules say can differ."""
    event = run.events[0]
    new = NewJob(
        id=_JOB,
        event_index=event.index,
        event_id=event.id,
        event=event.name,
        rule=run.rule.id,
        action=action.id,
        kind=action.kind,
        target=action.target,
        state="running",
        due_at=delivery.received_at,
        covers=tuple(e.index for e in run.events) if run.rule.per_delivery else (),
    )
    return committed(new, delivery, delivery.received_at)


class Skipped(msgspec.Struct, frozen=True):
    """A delivery that no rule is evaluated for, and its state, which says why."""

    delivery: str
    state: str


class Difference(msgspec.Struct, frozen=True):
    """`deliveries` and `events` are how many were held against both; `old` and `new` name them."""

    old: str
    new: str
    rules: tuple[RuleChange, ...] = ()
    settings: tuple[Change, ...] = ()
    deliveries: int = 0
    events: int = 0
    skipped: tuple[Skipped, ...] = ()
    effects: tuple[Effect, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.rules or self.settings or self.effects)


def difference_json(found: Difference) -> dict[str, Any]:
    """For `encode_json`."""
    head = {"old": found.old, "new": found.new, "differs": found.differs}
    return head | msgspec.to_builtins(found, builtin_types=(Decimal,))  # type: ignore[no-any-return]
