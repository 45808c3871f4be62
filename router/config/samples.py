"""
What actions send, made once from the provider's samples: what fails there will fail later.

Pure and bounded: nothing is called, no secret is read. Said is only what a sample can prove: a
field that is there and null, a list in the middle of a text, a function that refuses its argument.
Not judged are fields that the sample lacks (they may come), what reads the sender's headers or the
results of other actions, and what the rule's own conditions keep away.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from router.config.context import LoadContext
from router.errors import RenderError
from router.expressions import Expression, Template
from router.expressions.field_paths import EACH, FieldPath
from router.kinds import KINDS
from router.kinds.kind import TemplateForm
from router.kinds.templates import encoded, json_value, texts_in
from router.model.delivery import Delivery, DeliveryEvent, InboundRequest
from router.model.patterns import wants_event
from router.model.settings import Endpoint
from router.providers import Provider
from router.rules.index import as_one
from router.rules.redacting import reads
from router.rules.ruleset import Ruleset
from router.rules.scope import event_scope
from router.rules.specs import CompiledAction, CompiledRule
from router.yaml_source import Node, SourceText

RENDERS_MAX = 100_000
"""How many are tried at most, in about a second; what a longer file has beyond is not judged."""
_NOW_MS = 1_760_000_000_000
_ID = "01990000-0000-7000-8000-000000000000"
_ADVISED = re.compile(r"(.* is (?:null|an array|an object)): (.*)", re.DOTALL)

Scope = dict[str, Any]


class _Fault(NamedTuple):
    """Why an expression of a template (None: all of it) cannot be rendered, and where it begins."""

    reason: str
    expression: Expression | None
    start: int


def check_samples(context: LoadContext, ruleset: Ruleset) -> None:
    """Warn of templates that fail on the samples of events that their rules are for."""
    nodes = {entry.id.value: entry.node for entry in context.file.rules or () if entry.id}
    samples, reported, renders = _Samples(ruleset), set(context.nullable), 0
    sound: set[tuple[object, ...]] = set()  # templates that rules share
    for rule in ruleset.rules:
        scopes = samples.of(rule)
        for action in rule.actions:
            for form, template in _templates(action):
                key = (form, id(template), rule.sources, rule.events, rule.per_delivery)
                if key in sound and not action.given:
                    continue
                found = [
                    (name, scope, fault)
                    for name, scope in scopes
                    if (fault := _fault(form, template, _with(action, scope))) is not None
                ]
                renders += len(scopes)
                if not found and not action.given:
                    sound.add(key)
                faults = {
                    name: fault
                    for name, scope, fault in found
                    if _proved(fault, template, rule, (scope, ruleset))
                }
                if faults and (text := _place(context, nodes.get(rule.id), template)):
                    if text.node.start not in reported:
                        _say(context, text, faults)
                    reported.add(text.node.start)
                if renders > RENDERS_MAX or context.report.full:
                    return


def _place(context: LoadContext, node: Node | None, template: Template) -> SourceText | None:
    """Where a template is written: within its rule's node, or where rules share it."""
    places = context.written.get(template.text, ())
    within = (t for t in places if node is not None and node.start <= t.node.start < node.end)
    return next(within, places[0] if places else None)


def _say(context: LoadContext, text: SourceText, faults: dict[str, _Fault]) -> None:
    (name, fault), *others = faults.items()
    size = len(fault.expression.text if fault.expression else text.value)
    more = f", and of {len(others)} more" if others else ""
    advised = _ADVISED.fullmatch(fault.reason)
    context.report.warning(
        "template-fails-on-sample",
        f"on the sample of {name}{more}: {advised[1] if advised else fault.reason}",
        *context.span(text, (fault.start, fault.start + size)),
        advised[2] if advised else None,
    )


def _templates(action: CompiledAction) -> Iterator[tuple[TemplateForm, Template]]:
    """Everything that an action sends and that reads something."""
    form, spec = KINDS[action.kind].form, action.spec
    fields = ((form(spec, name), value) for name, value in msgspec.structs.asdict(spec).items())
    for how, value in (("json", action.given), *fields):
        yield from ((how, t) for t in texts_in(value) if isinstance(t, Template) and t.roots)


def _fault(form: TemplateForm, template: Template, scope: Scope) -> _Fault | None:
    """Why a template cannot be rendered."""
    if (whole := _reason(form, template, scope)) is None:
        return None
    for index, part in enumerate(template.parts):
        if isinstance(part, Expression):
            reason = _reason(form, Template(part.text, (part,), (0,)), scope)
            if reason is not None:
                return _Fault(reason, part, template.offset_of(index))
    return _Fault(whole, None, 0)


def _reason(form: TemplateForm, template: Template, scope: Scope) -> str | None:
    try:
        if form == "path" and template.whole is None:
            encoded(template, scope, "")
        elif form == "json":
            template.render_json(scope, place="")
        else:
            template.render(scope, place="", lenient=form == "lines")
    except RenderError as error:
        return str(error).removeprefix(f"{error.place}: ")
    return None


def _proved(
    fault: _Fault, template: Template, rule: CompiledRule, given: tuple[Scope, Ruleset]
) -> bool:
    """Whether a fault is the rule's, and not of the sample or of what the rule keeps away."""
    scope, defines = given[0], given[1].defines
    expressions = (fault.expression,) if fault.expression else template.expressions
    read = {path for one in expressions for path in reads(one.tree, defines)}
    if any(_lacks(scope, path) for path in read):
        return False
    match = as_one(rule.match)
    guarded = {path[:2] for path in reads(match.tree, defines)}
    return match.verdict(scope) is True or not guarded & {path[:2] for path in read}


def _lacks(value: Any, path: FieldPath) -> bool:
    """Whether a path leads nowhere: no such key, or a step through null."""
    for key in path:
        if key is EACH or isinstance(value, str):
            return key is not EACH
        try:
            value = value[key]
        except (LookupError, TypeError):  # no such key or position; neither object nor list
            return True
    return False


def _with(action: CompiledAction, scope: Scope) -> Scope:
    """The scope with a shared action's parameters, those that can be rendered."""
    given = {}
    for name, value in action.given or ():
        try:
            given[name] = json_value(value, scope, "with")
        except RenderError:
            continue  # said of the parameter itself; what reads it lacks it
    return {**scope, "with": given} if action.given else scope


class _Samples:
    """Scopes made of samples, each once."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset
        self._secrets = {name: f"{name}-0123456789abcdef" for name in ruleset.secrets}
        self._scopes: dict[tuple[str, str], Scope | None] = {}
        self._of: dict[tuple[object, ...], list[tuple[str, Scope]]] = {}

    def of(self, rule: CompiledRule) -> list[tuple[str, Scope]]:
        """Each event that a rule is for, with a scope made of its sample."""
        key = (rule.sources, rule.events, rule.per_delivery)
        if key not in self._of:
            self._of[key] = list(self._each(rule))
        return self._of[key]

    def _each(self, rule: CompiledRule) -> Iterator[tuple[str, Scope]]:
        taken = [e for e in self._ruleset.endpoints.values() if rule.takes(e.name)]
        for endpoint in {e.provider: e for e in reversed(taken)}.values():
            provider = self._ruleset.providers.get(endpoint.provider)
            for event in _wanted(provider, rule.events) if provider else ():
                key = (endpoint.provider, event)
                if provider is not None and key not in self._scopes:
                    self._scopes[key] = self._made(endpoint, provider, event)
                if (scope := self._scopes[key]) is not None:
                    batch = {"events": [scope["payload"]]} if rule.per_delivery else {}
                    yield event, {**scope, **batch}

    def _made(self, endpoint: Endpoint, provider: Provider, event: str) -> Scope | None:
        if (sample := provider.sample(event)) is None:
            return None
        headers = provider.unsigned(event, _ID)
        wire = tuple((name.lower().encode(), value.encode("latin-1")) for name, value in headers)
        body = provider.compose(sample, _ID)
        read = provider.read(InboundRequest("POST", b"/", b"", wire, body, "", _NOW_MS))
        if not read.events:
            return None
        delivery = Delivery(
            id="dlv_" + _ID,
            endpoint=endpoint.name,
            provider=provider.name,
            received_at=_NOW_MS,
            method="POST",
            path=endpoint.addresses[0] if endpoint.addresses else "/",
            query="",
            headers=(),
            body=body,
            verified_by=endpoint.secrets[0] if endpoint.secrets else None,
            state="routed",
            event_count=1,
            generation="",
        )
        first = read.events[0]
        made = DeliveryEvent(
            "evt_" + _ID, 0, first.name, first.action, first.payload, None, first.fields
        )
        scope = event_scope(self._ruleset.roots(delivery), delivery, made, self._ruleset.defines)
        return {**scope, "secret": self._secrets}


def _wanted(provider: Provider, patterns: tuple[str, ...] | None) -> Iterator[str]:
    for event in provider.events:
        if wants_event(patterns, event.name, None):
            yield event.name
            continue
        for action in event.actions:
            if wants_event(patterns, event.name, action):
                yield f"{event.name}.{action}"
