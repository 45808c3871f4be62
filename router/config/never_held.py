"""Expectations of tests that no run can meet, whatever the rules find in what is sent."""

from collections.abc import Iterator

from router.config.context import LoadContext
from router.config.endpoints import provider_of
from router.config.schema import EndpointEntry
from router.config.trial_schema import ExpectEntry, SendEntry, TrialEntry
from router.kinds import KINDS
from router.model.patterns import wildcard
from router.model.retry import SHORT
from router.model.settings import OWN
from router.model.trial import Sending, Step
from router.rules.specs import CompiledAction, CompiledRule
from router.yaml_source import SourceText

Sent = list[tuple[SendEntry, Step]]
Doubt = tuple[SourceText, str, str | None]
"""Where, what can never be, and what to do."""


class NeverHeld:
    """Looks through the tests of one load."""

    def __init__(self, context: LoadContext, rules: dict[str, CompiledRule]) -> None:
        self._context = context
        self._rules = rules

    def check(self, trial: TrialEntry, sends: tuple[Step, ...]) -> None:
        """Warn of what one test expects and can never come."""
        expect = trial.expect
        broken = expect is None or expect.broken or any(step.broken for step in trial.send or ())
        if broken or len(trial.send or ()) != len(sends) or expect is None:
            return
        sent = list(zip(trial.send or (), sends, strict=True))
        for place, message, hint in (
            *self._matched(expect, sent),
            *self._called(expect, sent),
            *self._answered(trial, sent),
        ):
            self._context.warning("never-met", message, place, hint)

    def _matched(self, expect: ExpectEntry, sent: Sent) -> Iterator[Doubt]:
        for key, names in (("matched", expect.matched), ("shadow", expect.shadow)):
            for name in names or ():
                if (rule := self._rules.get(name.value)) is None:
                    continue
                if (rule.mode == "shadow") != (key == "shadow"):
                    word = "in shadow" if rule.mode == "shadow" else "not in shadow"
                    other = "shadow" if rule.mode == "shadow" else "matched"
                    yield name, f"the rule '{rule.id}' is {word}", f"expect it under '{other}'"
                elif (why := self._unreached(rule, sent)) is not None:
                    yield name, f"'{rule.id}' cannot match: {why}", None

    def _called(self, expect: ExpectEntry, sent: Sent) -> Iterator[Doubt]:
        for name, call in expect.calls or ():
            if call.times == 0 or (found := self._action(name)) is None:
                continue
            rule, action = found
            if (why := self._idle(rule, sent)) is not None:
                yield name, f"'{name.value}' is never called: {why}", None
            elif (most := self._most(rule, action, sent)) is not None and (call.times or 0) > most:
                message = f"{call.times} calls are expected, but at most {most} can come"
                yield SourceText("", call.at("times")), message, None

    def _answered(self, trial: TrialEntry, sent: Sent) -> Iterator[Doubt]:
        for name, _ in trial.replies or ():
            found = self._action(name)
            if found is not None and (why := self._idle(found[0], sent)) is not None:
                yield name, f"'{name.value}' is never called: {why}", None

    def _action(self, name: SourceText) -> tuple[CompiledRule, CompiledAction] | None:
        of, _, id_ = name.value.partition("/")
        if (rule := self._rules.get(of)) is None:
            return None
        return next(((rule, action) for action in rule.actions if action.id == id_), None)

    def _idle(self, rule: CompiledRule, sent: Sent) -> str | None:
        """Why no action of a rule can run."""
        if rule.mode != "live":
            return f"the rule '{rule.id}' has 'mode: {rule.mode}'"
        return self._unreached(rule, sent)

    def _unreached(self, rule: CompiledRule, sent: Sent) -> str | None:
        """Why nothing that is sent can come to a rule."""
        if OWN in (rule.sources or ()):
            return None  # its events come of jobs
        reaching = [(e, s) for e, s in sent if isinstance(s, Sending) and rule.takes(s.endpoint)]
        if not reaching:
            return "its 'from' has no endpoint that is sent to"
        if not any(self._lets_in(rule, entry, step.event) for entry, step in reaching):
            return "its 'events' let none in that is sent"
        return None

    def _lets_in(self, rule: CompiledRule, entry: SendEntry, event: str) -> bool:
        """False only where the event is surely the one that is named, and none of the rule's."""
        written = entry.payload is not None or entry.headers is not None
        if rule.events is None or written or "*" in event:
            return True
        endpoint = self._endpoint(entry.endpoint.value if entry.endpoint else "")
        provider = provider_of(self._context, endpoint) if endpoint is not None else None
        if provider is None or provider.definition.event.key:
            return True
        naming = {path.partition(".")[0] for path in provider.definition.event.paths}
        if any(path.value.partition(".")[0] in naming for path, _ in entry.set or ()):
            return True
        return any(_may_name(pattern, event) for pattern in rule.events)

    def _most(self, rule: CompiledRule, action: CompiledAction, sent: Sent) -> int | None:
        """How often an action can be called at most; None: that is not known."""
        if OWN in (rule.sources or ()) or any(self._revives(step) for _, step in sent):
            return None
        attempts = len(action.retry.schedule_ms) + 1
        if KINDS[action.kind].real:  # what asks to be tried again outlives its policy
            attempts += len(SHORT.schedule_ms)
        most = max((_events(step) for _, step in sent), default=1)
        return attempts * most * sum(step.requests for _, step in sent)

    def _revives(self, step: Step) -> bool:
        """Whether what is sent again there makes dead jobs anew."""
        endpoint = self._endpoint(step.endpoint) if isinstance(step, Sending) else None
        return endpoint is not None and endpoint.on_redelivery == "revive"

    def _endpoint(self, name: str) -> EndpointEntry | None:
        table = self._context.file.endpoints
        return table.items[name][1] if table is not None and name in table else None


def _events(step: Step) -> int:
    if isinstance(step, Sending) and isinstance(step.payload, list):
        return len(step.payload)
    return 1


def _may_name(pattern: str, event: str) -> bool:
    """Whether a pattern can fit this event with some action."""
    if wildcard(pattern, event) or pattern.startswith(f"{event}."):
        return True
    head, star, _ = pattern.partition("*")
    name, dot, _ = event.rpartition(".")
    if dot and _may_name(pattern, name):  # `workflow_run.completed` is a workflow_run
        return True
    return bool(star) and (f"{event}.".startswith(head) or head.startswith(f"{event}."))
