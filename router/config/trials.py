"""`tests:`: what is sent, answered and expected, every name checked against the file."""

from router.config.context import LoadContext
from router.config.expectations import Expectations
from router.config.replies import ReplyCompiler
from router.config.senders import EndpointSenders
from router.config.steps import StepCompiler
from router.config.trial_schema import TrialEntry
from router.model.settings import OWN
from router.model.trial import ActionKey, SimulatedAnswer, Trial
from router.rules.ruleset import Ruleset


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
