"""`tests:`: what is sent, answered and expected, every name checked against the file."""

from functools import partial

from router.config.context import LoadContext
from router.config.expectations import Expectations
from router.config.senders import EndpointSenders
from router.config.steps import StepCompiler
from router.config.trial_schema import ReplyEntry, TrialEntry
from router.kinds import KINDS
from router.model.job import ActionKind
from router.model.settings import OWN
from router.model.trial import ActionKey, SimulatedAnswer, Trial
from router.rules.specs import CompiledRule
from router.yaml_source import SourceText


class Trials:
    """Compiles the tests of one load, against its endpoints and rules."""

    def __init__(
        self, context: LoadContext, rules: tuple[CompiledRule, ...], senders: EndpointSenders
    ) -> None:
        self.context = context
        self._bad_reply = partial(context.error, "bad-reply")
        self._steps = StepCompiler(
            context, senders, own_events=any(OWN in (rule.sources or ()) for rule in rules)
        )
        self._expectations = Expectations(context, rules)
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
            where = self.context.report.source.where(start, entry.name.node.start)
            self.context.error(
                "duplicate-test", f"the test in {where} has the same name", entry.name
            )
        return entry.name.value

    # -- how the world answers ------------------------------------------------------------------

    def _replies(self, entry: TrialEntry) -> dict[ActionKey, tuple[SimulatedAnswer, ...]]:
        found = {}
        for name, answers in entry.replies or ():
            if (action := self._expectations.action(name)) is not None:
                key, kind = action
                found[key] = tuple(self._answer(a, kind, name) for a in answers)
        return found

    def _answer(self, entry: ReplyEntry, kind: ActionKind, name: SourceText) -> SimulatedAnswer:
        title, reply = f"{KINDS[kind].title} action", KINDS[kind].reply
        if reply is None:
            self._bad_reply(f"'{name.value}' is {title}: it meets nobody", entry.node)
            return SimulatedAnswer()
        numbered = isinstance(reply.values, range)
        if entry.code is not None and not numbered:
            words = ", ".join(f"{{{reply.key}: {value}}}" for value in reply.values)
            hint = f"write {words}, or {{}} for success"
            self._bad_reply(f"{title} is not answered by a number", entry.node, hint)
        for key in entry.chosen.keys() - {reply.key}:
            self._bad_reply(
                f"'{key}' is no answer to {title}",
                entry.key_at(key),
                f"expected {reply.key} or error",
            )
        if (value := entry.chosen.get(reply.key)) is not None and entry.error is not None:
            self._bad_reply(f"'{reply.key}' and 'error' exclude each other", entry.node)
        if entry.code is not None and numbered:
            value = entry.code
        if value is not None and value not in reply.values:
            self._bad_reply(f"{value} is {reply.otherwise}", entry.node)
        elif entry.after is not None and value not in reply.waits:
            afters = [k.reply.after for k in KINDS.values() if k.reply and k.reply.after]
            self._bad_reply(f"'after' goes with {' or '.join(afters)}", entry.key_at("after"))
        return SimulatedAnswer(
            value, entry.error, None if entry.after is None else entry.after / 1_000
        )
