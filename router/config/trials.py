"""`tests:`: what is sent, answered and expected, every name checked against the file."""

from collections.abc import Mapping
from typing import Any

from router.config.context import Context
from router.config.endpoints import provider_of
from router.config.events import Events
from router.config.language import json_value
from router.config.schema import (
    CallEntry,
    ReplyEntry,
    RuleEntry,
    SendEntry,
    TrialEntry,
)
from router.config.settings import above_zero
from router.model.delivery import JSON
from router.model.job import ActionKind
from router.model.trial import ActionKey, Answer, Expected, ExpectedCall, Sending, Trial
from router.providers import Provider, changes
from router.rules.specs import CompiledRule
from router.yaml_source import Node, Sequence, Table, Text

REPEAT_MAX = 1_000
_EVENT_MAX = 256
_FIELDS: Mapping[str, frozenset[ActionKind]] = {
    "method": frozenset({"http"}),
    "url": frozenset({"http"}),
    "headers": frozenset({"http"}),
    "json": frozenset({"http"}),
    "argv": frozenset({"shell"}),
    "env": frozenset({"shell"}),
    "stdin": frozenset({"shell"}),
    "args": frozenset({"python"}),
    "message": frozenset({"log"}),
}
"""What can be expected of a call, and the kinds of action that have it."""
_REPLIES: Mapping[ActionKind, tuple[str, ...]] = {
    "http": ("status", "error"),
    "shell": ("exit", "error"),
    "python": ("raises", "error"),
    "log": (),
}
_AN: Mapping[ActionKind, str] = {
    "http": "an http",
    "shell": "a shell",
    "python": "a python",
    "log": "a log",
}
_CODE: Mapping[ActionKind, str] = {"http": "status", "shell": "exit"}


class Trials:
    """Compiles the tests of one file, against its endpoints and rules."""

    def __init__(self, context: Context, rules: tuple[CompiledRule, ...]) -> None:
        self.context = context
        self._events = Events(context)
        self._rules = {rule.id: {a.id: a.kind for a in rule.actions} for rule in rules}
        self._partly = {e.id.value for e in context.file.rules or () if e.id and _is_partly_read(e)}
        self._names: dict[str, int] = {}

    def compile(self, entries: list[TrialEntry]) -> tuple[Trial, ...]:
        """Every test in the order of the file."""
        return tuple(self._trial(entry) for entry in entries)

    def _trial(self, entry: TrialEntry) -> Trial:
        line, _ = self.context.report.source.position(entry.node.start)
        sends = tuple(self._sending(step) for step in entry.send or ())
        if entry.send is not None and not entry.send:
            self.context.error("bad-step", "this test sends nothing", entry.key_at("send"))
        return Trial(
            name=self._name(entry),
            line=line,
            sends=sends,
            replies=self._replies(entry),
            expect=self._expected(entry, sends),
            clock=entry.clock,
        )

    def _name(self, entry: TrialEntry) -> str:
        if entry.name is None:
            return ""
        start = self._names.setdefault(entry.name.value, entry.name.node.start)
        if start != entry.name.node.start:
            line, _ = self.context.report.source.position(start)
            message = f"the test in line {line} has the same name"
            self.context.error("duplicate-test", message, entry.name)
        return entry.name.value

    # -- what is sent ---------------------------------------------------------------------------

    def _sending(self, entry: SendEntry) -> Sending:
        provider = self._provider(entry)
        if entry.event is not None and provider is not None:
            self._event(entry.event, provider)
        above_zero(self.context, entry.repeat, entry.at("repeat"), "repeat")
        if entry.repeat is not None and entry.repeat > REPEAT_MAX:
            message = f"a step sends at most {REPEAT_MAX} deliveries"
            self.context.error("bad-value", message, entry.at("repeat"))
        event = entry.event.value if entry.event else ""
        return Sending(
            endpoint=entry.endpoint.value if entry.endpoint else "",
            event=event,
            payload=self._changed(entry, self._payload(entry, provider, event)),
            tamper=entry.tamper,
            redeliver=bool(entry.redeliver),
            repeat=entry.repeat or 1,
        )

    def _provider(self, entry: SendEntry) -> Provider | None:
        name, known = entry.endpoint, self.context.file.endpoints
        if name is None:
            return None
        if known is None or name.value not in known:
            self.context.unknown("unknown-endpoint", "endpoint", name, known.items if known else ())
            return None
        endpoint = known.items[name.value][1]
        if endpoint is None:
            return None
        if endpoint.verify == "none" and entry.tamper is not None:
            message = f"the endpoint '{name.value}' verifies nothing, so nothing can be forged"
            self.context.error("bad-step", message, entry.key_at("tamper"))
        return provider_of(self.context, endpoint)

    def _event(self, event: Text, provider: Provider) -> None:
        value = event.value
        printable = value.isascii() and value.isprintable() and value.strip() == value
        if not printable or not 0 < len(value) <= _EVENT_MAX or "*" in value:
            message = f"'{value[:60]}' is not the name of one event"
            self.context.error("bad-step", message, event)
            return
        self._events.check([event], {provider.name: provider})

    def _payload(self, entry: SendEntry, provider: Provider | None, event: str) -> JSON:
        if entry.payload is not None:
            return json_value(self.context, entry.payload)
        sample = provider.sample(event) if provider is not None and event else None
        return {} if sample is None else sample

    def _changed(self, entry: SendEntry, payload: JSON) -> JSON:
        for path, node in entry.set or ():
            value = json_value(self.context, node)
            try:
                payload = changes.put(payload, path.value, value)
            except ValueError as reason:
                self.context.error("bad-step", f"nothing can be set there: {reason}", path)
        return payload

    # -- how the world answers ------------------------------------------------------------------

    def _replies(self, entry: TrialEntry) -> dict[ActionKey, tuple[Answer, ...]]:
        found = {}
        for name, answers in entry.replies or ():
            action = self._action(name)
            if action is not None:
                key, kind = action
                found[key] = tuple(self._answer(a, kind, name) for a in answers)
        return found

    def _answer(self, entry: ReplyEntry, kind: ActionKind, name: Text) -> Answer:
        allowed = _REPLIES[kind]
        if not allowed:
            self._bad_reply(f"'{name.value}' is a log action: it meets nobody", entry.node)
        elif entry.code is not None and kind not in _CODE:
            hint = "write {raises: Retry}, {raises: Fail}, or {} for success"
            self._bad_reply(f"{_AN[kind]} action is not answered by a number", entry.node, hint)
        for key in ("status", "exit", "raises", "error"):
            if getattr(entry, key) is not None and key not in allowed:
                message = f"'{key}' is no answer to {_AN[kind]} action"
                self._bad_reply(message, entry.key_at(key), f"expected {' or '.join(allowed)}")
        if sum(getattr(entry, key) is not None for key in allowed) > 1:
            listed = " and ".join(f"'{key}'" for key in allowed)
            self._bad_reply(f"{listed} exclude each other", entry.node)
        return self._bounded(entry, kind)

    def _bounded(self, entry: ReplyEntry, kind: ActionKind) -> Answer:
        given = {"status": entry.status, "exit": entry.exit}
        if entry.code is not None and kind in _CODE:
            given[_CODE[kind]] = entry.code
        status, exit_ = given["status"], given["exit"]
        if status is not None and status not in range(200, 600):
            self._bad_reply(f"{status} is no final HTTP status", entry.node)
        if exit_ is not None and exit_ not in range(256):
            self._bad_reply(f"{exit_} is no exit code", entry.node)
        if entry.after is not None and status is None and entry.raises != "Retry":
            message = "'after' goes with 'status' (Retry-After) or 'raises: Retry'"
            self._bad_reply(message, entry.key_at("after"))
        after = None if entry.after is None else entry.after / 1_000
        return Answer(status, exit_, entry.error, entry.raises, after)

    def _bad_reply(self, message: str, node: Node, hint: str | None = None) -> None:
        self.context.error("bad-reply", message, node, hint)

    # -- what must come -------------------------------------------------------------------------

    def _expected(self, trial: TrialEntry, sends: tuple[Sending, ...]) -> Expected:
        entry = trial.expect
        if entry is None:
            return Expected()
        keys = ("status", "matched", "shadow", "calls", "dead")
        if not entry.broken and all(getattr(entry, key) is None for key in keys):
            message = "nothing is expected, so this test could not fail"
            self.context.error("bad-expectation", message, trial.key_at("expect"))
        return Expected(
            status=self._statuses(trial, sends),
            matched=self._matched(entry.matched),
            shadow=self._matched(entry.shadow),
            dead=self._dead(entry.dead),
            calls=self._calls(entry.calls),
        )

    def _statuses(self, trial: TrialEntry, sends: tuple[Sending, ...]) -> tuple[int, ...] | None:
        entry = trial.expect
        if entry is None or entry.status is None:
            return None
        for status in entry.status:
            if status not in range(100, 600):
                message = f"{status} is no HTTP status"
                self.context.error("bad-value", message, entry.at("status"))
        sent = sum(s.repeat * (2 if s.redeliver else 1) for s in sends)
        if any(step.broken for step in trial.send or ()):
            return tuple(entry.status)  # how many are sent cannot be told
        if isinstance(entry.at("status"), Sequence) and len(entry.status) not in (1, sent):
            message = f"{len(entry.status)} statuses are expected of {sent} deliveries"
            hint = "one status stands for all, a list has one for each"
            self.context.error("bad-expectation", message, entry.at("status"), hint)
        return tuple(entry.status)

    def _matched(self, names: list[Text] | None) -> frozenset[str] | None:
        if names is None:
            return None
        for name in names:
            if name.value not in self._rules:
                self.context.unknown("unknown-rule", "rule", name, self._rules)
        return frozenset(name.value for name in names)

    def _dead(self, names: list[Text] | None) -> frozenset[ActionKey] | None:
        if names is None:
            return None
        actions = (self._action(name) for name in names)
        return frozenset(action[0] for action in actions if action is not None)

    def _calls(self, table: Table[CallEntry] | None) -> dict[ActionKey, ExpectedCall]:
        found = {}
        for name, entry in table or ():
            action = self._action(name)
            if action is not None:
                found[action[0]] = self._call(name, entry, action[1])
        return found

    def _call(self, name: Text, entry: CallEntry, kind: ActionKind) -> ExpectedCall:
        fields = {}
        for key, kinds in _FIELDS.items():
            value = getattr(entry, key)
            if value is None:
                continue
            fields[key] = self._value(value)
            if kind not in kinds:
                message = f"'{name.value}' is {_AN[kind]} action: its calls have no '{key}'"
                hint = "they have " + ", ".join(k for k, of in _FIELDS.items() if kind in of)
                self.context.error("bad-expectation", message, entry.key_at(key), hint)
        if entry.times is not None and entry.times < 0:
            message = "'times' cannot be below zero"
            self.context.error("bad-value", message, entry.at("times"))
        line, _ = self.context.report.source.position(name.node.start)
        return ExpectedCall(entry.times, fields, line)

    def _value(self, value: Any) -> Any:
        if isinstance(value, Text):
            return value.value
        if isinstance(value, Table):
            return {name.value: text.value for name, text in value}
        if isinstance(value, list):
            return [text.value for text in value]
        return json_value(self.context, value)

    def _action(self, name: Text) -> tuple[ActionKey, ActionKind] | None:
        """The action that a text written `rule/action` names; reported if there is none."""
        rule, _, action = name.value.partition("/")
        actions = self._rules.get(rule)
        if actions is None:
            known = [f"{r}/{a}" for r, found in self._rules.items() for a in found]
            self.context.unknown("unknown-rule", "rule and action", name, known)
            return None
        kind = actions.get(action)
        if kind is None and rule not in self._partly:
            known = [f"{rule}/{a}" for a in actions]
            self.context.unknown("unknown-action", "action", name, known)
        return None if kind is None else ((rule, action), kind)


def _is_partly_read(entry: RuleEntry) -> bool:
    """Whether some action of a rule could not be read: tests may name it all the same."""
    written = entry.at("actions")
    count = len(written.items) if isinstance(written, Sequence) else 1
    return len(entry.actions or ()) < count or any(a.broken for a in entry.actions or ())
