"""
What actions send, made once from the provider's samples: what fails there will fail later.

Pure and bounded: nothing is called, no secret is read. Said is only what a sample can prove: a
field that is there and null, a list in the middle of a text, a function that refuses its argument.
Not judged are fields that the sample lacks (they may come), what reads the sender's headers or the
results of other actions, and what the rule's own conditions keep away.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from router.config.context import LoadContext
from router.errors import RenderError
from router.expressions import Expression, Template
from router.expressions.lacking import lacks
from router.kinds import KINDS
from router.kinds.kind import TemplateForm
from router.kinds.templates import encoded, json_value, texts_in
from router.model.delivery import Delivery, DeliveryEvent, InboundRequest
from router.model.patterns import wants_event
from router.model.settings import Endpoint
from router.providers import Provider
from router.rules.index import as_one
from router.rules.ruleset import Ruleset
from router.rules.scope import event_scope
from router.rules.specs import CompiledAction, CompiledRule
from router.yaml_source import Node, SourceText

RENDERS_MAX = 200_000
"""How many are tried at most, in about two seconds; what a longer file has beyond is not judged."""
_NOW_MS = 1_760_000_000_000
_ID = "01990000-0000-7000-8000-000000000000"
_ADVISED = re.compile(r"(.* is (?:null|an array|an object)): (.*)", re.DOTALL)

Scope = dict[str, Any]


class TemplateFault(msgspec.Struct, frozen=True):
    """Why an expression of a template (None: all of it) cannot be rendered, and where it begins."""

    reason: str
    expression: Expression | None = None
    start: int = 0


def check_samples(context: LoadContext, ruleset: Ruleset) -> None:
    """Warn of templates that fail on the samples of events that their rules are for."""
    samples = _Samples(
        ruleset, {entry.id.value: entry.node for entry in context.file.rules or () if entry.id}
    )
    reported = set(context.nullable)
    for rule in ruleset.rules:
        for action in rule.actions:
            for form, template in _templates(action):
                _judge(context, samples, (rule, action), (form, template), reported)
                if samples.renders > RENDERS_MAX or context.report.full:
                    return


def _judge(
    context: LoadContext,
    samples: "_Samples",
    owner: tuple[CompiledRule, CompiledAction],
    what: tuple[TemplateForm, Template],
    reported: set[int],
) -> None:
    """Render one template on every sample of its rule, and say once which fail."""
    rule, action = owner
    form, template = what
    key = (form, id(template), rule.sources, rule.events, rule.per_delivery)
    if not action.given and key in samples.sound:
        return
    found = [
        (name, scope, fault)
        for name, scope in samples.of(rule)
        if (fault := _fault(form, template, _with(action, scope))) is not None
    ]
    if not found and not action.given:
        samples.sound.add(key)
    faults = {name: f for name, scope, f in found if _counts(f, template, rule, scope)}
    if not faults:
        return
    text = _place(context, samples.nodes.get(rule.id), template)
    if text is None or text.node.start in reported:
        return
    reported.add(text.node.start)
    _say(context, text, faults)


def _say(context: LoadContext, text: SourceText, faults: dict[str, TemplateFault]) -> None:
    (name, fault), *others = faults.items()
    size = len(text.value if fault.expression is None else fault.expression.text)
    span = (fault.start, fault.start + size)
    more = f", and of {len(others)} more" if others else ""
    advised = _ADVISED.fullmatch(fault.reason)
    reason, hint = (advised[1], advised[2]) if advised else (fault.reason, None)
    context.report.warning(
        "template-fails-on-sample",
        f"on the sample of {name}{more}: {reason}",
        *context.span(text, span),
        hint,
    )


def _place(context: LoadContext, node: Node | None, template: Template) -> SourceText | None:
    """Where a template is written: within its rule's node, or where rules share it."""
    places = context.written.get(template.text, ())
    within = (t for t in places if node is not None and node.start <= t.node.start < node.end)
    return next(within, places[0] if places else None)


# -- templates


def _templates(action: CompiledAction) -> Iterator[tuple[TemplateForm, Template]]:
    """Everything that an action sends and that reads something."""
    form, spec = KINDS[action.kind].form, action.spec
    fields = ((form(spec, name), value) for name, value in msgspec.structs.asdict(spec).items())
    for how, value in (("json", action.given), *fields):
        yield from ((how, t) for t in texts_in(value) if isinstance(t, Template) and t.roots)


def _fault(form: TemplateForm, template: Template, scope: Scope) -> TemplateFault | None:
    """Why a template cannot be rendered; None also where that cannot be judged."""
    try:
        _render(form, template, scope)
    except RenderError as error:
        whole = TemplateFault(str(error).removeprefix(f"{error.place}: "))
    else:
        return None
    for index, part in enumerate(template.parts):
        if isinstance(part, Expression):
            try:
                _render(form, Template(part.text, (part,), (0,)), scope)
            except RenderError as error:
                reason = str(error).removeprefix(f"{error.place}: ")
                return TemplateFault(reason, part, template.offset_of(index))
    return whole


def _render(form: TemplateForm, template: Template, scope: Scope) -> None:
    match form:
        case "path" if template.whole is None:
            encoded(template, scope, "")
        case "json":
            template.render_json(scope, place="")
        case _:
            template.render(scope, place="", lenient=form == "lines")


# -- what a sample can prove


def _counts(fault: TemplateFault, template: Template, rule: CompiledRule, scope: Scope) -> bool:
    """Whether a fault is the rule's, and not of the sample or of what the rule keeps away."""
    expressions = template.expressions if fault.expression is None else (fault.expression,)
    defines = scope.get("def")
    read = [e for one in expressions for e in (one, *_defined(one, defines))]
    if any(lacks(e, scope) for e in read):
        return False
    match = as_one(rule.match)
    if match.verdict(scope) is True:
        return True
    guarded = {use for e in (match, *_defined(match, defines)) for use in e.uses}
    return not guarded & {use for e in read for use in e.uses if use[0] != "def"}


def _defined(expression: Expression, defines: Any) -> Iterator[Expression]:
    """The definitions that an expression reads, and those that they read."""
    pending, seen = [expression], set()
    while pending:
        for root, field in pending.pop().uses:
            if root == "def" and field not in seen and defines is not None:
                seen.add(field)
                if (found := defines.expressions.get(field)) is not None:
                    pending.append(found)
                    yield found


def _with(action: CompiledAction, scope: Scope) -> Scope:
    """The scope with a shared action's parameters, those that can be rendered."""
    if not action.given:
        return scope
    given = {}
    for name, value in action.given:
        try:
            given[name] = json_value(value, scope, "with")
        except RenderError:
            continue  # said of the parameter itself; what reads it lacks it
    return {**scope, "with": given}


# -- samples


class _Samples:
    """
    Scopes made of samples, each once; `renders` counts what they were used for.

    `nodes` is where the rules stand; `sound` are the templates that fail on no sample of certain
    events: rules share them.
    """

    def __init__(self, ruleset: Ruleset, nodes: Mapping[str, Node]) -> None:
        self.renders = 0
        self.sound: set[tuple[object, ...]] = set()
        self.nodes = nodes
        self._ruleset = ruleset
        self._secrets = {name: f"{name}-0123456789abcdef" for name in ruleset.secrets}
        self._scopes: dict[tuple[str, str], Scope | None] = {}
        self._named: dict[tuple[str, tuple[str, ...] | None], list[str]] = {}

    def of(self, rule: CompiledRule) -> Iterator[tuple[str, Scope]]:
        """Each event that a rule is for, with a scope made of its sample."""
        seen = set()
        for endpoint in (e for e in self._ruleset.endpoints.values() if rule.takes(e.name)):
            provider = self._ruleset.providers.get(endpoint.provider)
            if provider is None or provider.name in seen:
                continue
            seen.add(provider.name)
            named = (provider.name, rule.events)
            if named not in self._named:
                self._named[named] = list(_wanted(provider, rule.events))
            for event in self._named[named]:
                key = (provider.name, event)
                if key not in self._scopes:
                    self._scopes[key] = self._made(endpoint, provider, event)
                if (scope := self._scopes[key]) is not None:
                    batch = {"events": [scope["payload"]]} if rule.per_delivery else {}
                    self.renders += 1
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
        delivery = _delivery(endpoint, provider, body)
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


def _delivery(endpoint: Endpoint, provider: Provider, body: bytes) -> Delivery:
    return Delivery(
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
