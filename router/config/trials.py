"""`tests:`: what is sent, answered and expected, every name checked against the file."""

from collections.abc import Mapping

from router.config.context import LoadContext
from router.config.expectations import AN, Expectations, KnownActions
from router.config.senders import EndpointSenders
from router.config.steps import StepCompiler
from router.config.trial_schema import ReplyEntry, TrialEntry
from router.model.job import ActionKind
from router.model.settings import OWN
from router.model.trial import ActionKey, SimulatedAnswer, Trial
from router.rules.specs import CompiledRule
from router.yaml_source import Node, SourceText

_REPLIES: Mapping[ActionKind, tuple[str, ...]] = {
    "http": ("status", "error"),
    "shell": ("exit", "error"),
    "python": ("raises", "error"),
    "log": (),
}
_CODE: Mapping[ActionKind, str] = {"http": "status", "shell": "exit"}


class Trials:
    """Compiles the tests of one load, against its endpoints and rules."""

    def __init__(
        self, context: LoadContext, rules: tuple[CompiledRule, ...], senders: EndpointSenders
    ) -> None:
        self.context = context
        own_events = any(OWN in (rule.sources or ()) for rule in rules)
        self._steps = StepCompiler(context, senders, own_events=own_events)
        self._actions = KnownActions(context, rules)
        self._expectations = Expectations(context, self._actions)
        self._names: dict[str, int] = {}

    def compile(self, entries: list[TrialEntry]) -> tuple[Trial, ...]:
        """Every test in the order of the file."""
        return tuple(self._trial(entry) for entry in entries)

    def _trial(self, entry: TrialEntry) -> Trial:
        source = self.context.report.source
        sends = self._steps.compile(entry.send or [])
        broken = not entry.send or any(step.broken for step in entry.send)
        if entry.send == [] or not (broken or any(step.requests for step in sends)):
            self.context.error("bad-step", "this test sends nothing", entry.key_at("send"))
        return Trial(
            name=self._name(entry),
            file=source.path_at(entry.node.start),
            line=source.position(entry.node.start)[0],
            sends=sends,
            replies=self._replies(entry),
            expect=self._expectations.compile(entry, sends),
            clock=entry.clock,
            real=bool(entry.real),
        )

    def _name(self, entry: TrialEntry) -> str:
        if entry.name is None:
            return ""
        start = self._names.setdefault(entry.name.value, entry.name.node.start)
        if start != entry.name.node.start:
            where = self.context.report.source.told(start, entry.name.node.start)
            message = f"the test in {where} has the same name"
            self.context.error("duplicate-test", message, entry.name)
        return entry.name.value

    # -- how the world answers ------------------------------------------------------------------

    def _replies(self, entry: TrialEntry) -> dict[ActionKey, tuple[SimulatedAnswer, ...]]:
        found = {}
        for name, answers in entry.replies or ():
            action = self._actions.action(name)
            if action is not None:
                key, kind = action
                found[key] = tuple(self._answer(a, kind, name) for a in answers)
        return found

    def _answer(self, entry: ReplyEntry, kind: ActionKind, name: SourceText) -> SimulatedAnswer:
        allowed = _REPLIES[kind]
        if not allowed:
            self._bad_reply(f"'{name.value}' is a log action: it meets nobody", entry.node)
        elif entry.code is not None and kind not in _CODE:
            hint = "write {raises: Retry}, {raises: Fail}, or {} for success"
            self._bad_reply(f"{AN[kind]} action is not answered by a number", entry.node, hint)
        for key in ("status", "exit", "raises", "error"):
            if getattr(entry, key) is not None and key not in allowed:
                message = f"'{key}' is no answer to {AN[kind]} action"
                self._bad_reply(message, entry.key_at(key), f"expected {' or '.join(allowed)}")
        if sum(getattr(entry, key) is not None for key in allowed) > 1:
            listed = " and ".join(f"'{key}'" for key in allowed)
            self._bad_reply(f"{listed} exclude each other", entry.node)
        return self._bounded(entry, kind)

    def _bounded(self, entry: ReplyEntry, kind: ActionKind) -> SimulatedAnswer:
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
        return SimulatedAnswer(status, exit_, entry.error, entry.raises, after)

    def _bad_reply(self, message: str, node: Node, hint: str | None = None) -> None:
        self.context.error("bad-reply", message, node, hint)
