"""`tests:`: what is sent, answered and expected, every name checked against the file."""

from functools import partial
from itertools import pairwise

from router.config.context import LoadContext
from router.config.expectations import Expectations
from router.config.providers import decoded_value
from router.config.senders import EndpointSenders
from router.config.steps import StepCompiler
from router.config.trial_schema import ReplyEntry, TrialEntry
from router.kinds import KINDS
from router.kinds.kind import ReplyKey
from router.model.job import ActionKind
from router.model.settings import OWN
from router.model.trial import ActionKey, SimulatedAnswer, Trial
from router.rules.ruleset import Ruleset
from router.yaml_source import SourceText


class Trials:
    """Compiles the tests of one load, against its endpoints and rules."""

    def __init__(self, context: LoadContext, ruleset: Ruleset, senders: EndpointSenders) -> None:
        rules = ruleset.rules
        self.context = context
        self._answers = ReplyCompiler(context)
        self._steps = StepCompiler(
            context,
            senders,
            ruleset.endpoints,
            own_events=any(OWN in (rule.sources or ()) for rule in rules),
        )
        self._expectations = Expectations(context, rules)
        self._names: dict[str, int] = {}

    def compile(self, entries: list[TrialEntry]) -> tuple[Trial, ...]:
        """Every test in the order of the file."""
        return tuple(self._trial(entry) for entry in entries)

    def _trial(self, entry: TrialEntry) -> Trial:
        source = self.context.report.source
        start = (entry.node if entry.each is None else entry.each).start
        sends = self._steps.compile(entry.send or [])
        broken = not entry.send or any(step.broken for step in entry.send)
        if entry.send == [] or not (broken or any(step.requests for step in sends)):
            self.context.error("bad-step", "this test sends nothing", entry.key_at("send"))
        return Trial(
            name=self._name(entry),
            file=source.path_at(start),
            line=source.position(start)[0],
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
                found[key] = tuple(self._answers.compile(a, kind, name) for a in answers)
        return found


class ReplyCompiler:
    """Compiles the replies of one load."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        self._bad = partial(context.error, "bad-reply")

    def compile(self, entry: ReplyEntry, kind: ActionKind, name: SourceText) -> SimulatedAnswer:
        """One answer to an action of this kind; its faults are reported."""
        title, reply = f"{KINDS[kind].title} action", KINDS[kind].reply
        if reply is None:
            self._bad(f"'{name.value}' is {title}: it meets nobody", entry.node)
            return SimulatedAnswer()
        for key in entry.chosen.keys() - {reply.key, *reply.contents}:
            known = ", ".join((reply.key, *reply.contents))
            self._bad(
                f"'{key}' is no answer to {title}",
                entry.key_at(key),
                f"expected {known} or error",
            )
        self._exclusive(entry, reply)
        contents = {key: value for key, value in entry.chosen.items() if key in reply.contents}
        return SimulatedAnswer(
            self._value(entry, reply, title),
            entry.error,
            None if entry.after is None else entry.after / 1_000,
            {key: decoded_value(self.context, value) for key, value in contents.items()},
        )

    def _exclusive(self, entry: ReplyEntry, reply: ReplyKey) -> None:
        given = [key for key in (reply.key, *reply.contents) if key in entry.chosen]
        pairs = [(key, "error") for key in given if entry.error is not None]
        either = [key for key in given if key in reply.either]
        for first, second in pairs[:1] or pairwise(either):
            self._bad(f"'{first}' and '{second}' exclude each other", entry.node)

    def _value(self, entry: ReplyEntry, reply: ReplyKey, title: str) -> int | str | None:
        """The status, the exit code, what is raised."""
        value: int | str | None = entry.chosen.get(reply.key)
        if entry.code is not None and isinstance(reply.values, range):
            value = entry.code
        elif entry.code is not None:
            words = ", ".join(f"{{{reply.key}: {one}}}" for one in reply.values)
            hint = f"write {words}, or {{}} for success"
            self._bad(f"{title} is not answered by a number", entry.node, hint)
        if value is not None and value not in reply.values:
            self._bad(f"{value} is {reply.otherwise}", entry.node)
        elif entry.after is not None and value not in reply.waits:
            afters = [k.reply.after for k in KINDS.values() if k.reply and k.reply.after]
            self._bad(f"'after' goes with {' or '.join(afters)}", entry.key_at("after"))
        return value
