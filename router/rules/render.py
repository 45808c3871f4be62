"""From a job and its event to a Call: templates rendered, secrets placed, hazards refused."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from router.errors import RenderError
from router.expressions import Template, encode_json, rfc3339
from router.model.call import Call, LogCall, PythonCall, ShellCall
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import Job, Skip
from router.plugin import hosts_of
from router.rules.live import LiveRuleset
from router.rules.render_http import json_value, render_http, secured
from router.rules.scope import event_scope
from router.rules.specs import CompiledAction, HttpSpec, LogSpec, PythonSpec, ShellSpec

FORM = "application/x-www-form-urlencoded"
UNPARSED = frozenset(
    {
        "delivery",
        "endpoint",
        "event",
        "headers",
        "provider",
        "query",
        "results",
        "secret",
        "var",
        "with",
    }
)
"""Roots that are known without parsing the body."""
CHILD_VARIABLES = ("PATH", "HOME", "LANG")


class Material(msgspec.Struct, frozen=True):
    """
    All that rendering one job needs, gathered.

    `covered` are the events of a run for a whole batch (`per: delivery`), `event` their first.
    `results` are those of the actions that it comes after.
    """

    live: LiveRuleset
    action: CompiledAction
    job: Job
    delivery: Delivery
    event: DeliveryEvent
    environ: Mapping[str, str]
    covered: tuple[DeliveryEvent, ...] = ()
    results: Mapping[str, Any] = msgspec.field(default_factory=dict)


def render(material: Material) -> Call | Skip:
    """
    The call of one attempt, or why there is none: its `when` does not hold.

    Raises:
        RenderError: a template cannot be rendered from this event, or gives a hazard: CR, LF or
            NUL in a header, NUL in an argument or variable, an option where none was meant, an
            empty or dotted path segment. The job is dead.
    """
    m = material
    ruleset = m.live.ruleset
    shared = ruleset.roots(m.delivery)
    scope = event_scope(shared, m.delivery, m.event, ruleset.defines)
    scope["secret"] = m.live.secrets.texts
    if m.covered:
        scope["events"] = [event.payload for event in m.covered]
    if m.action.after:
        scope["results"] = m.results
    if m.action.given:
        scope["with"] = json_value(dict(m.action.given), scope, "with")
    if m.action.when is not None:
        verdict = m.action.when.verdict(scope)
        if verdict is not True:
            return Skip(f"when_error: {verdict.reason}" if verdict else "when")
    return _call(m, scope)


def _call(m: Material, scope: dict[str, Any]) -> Call:
    spec = m.action.spec
    match spec:
        case LogSpec():
            return LogCall(spec.message.render(scope, place="log", lenient=True))
        case HttpSpec():
            masked = _masked(m, spec, scope)
            body, content_type = default_body(m)
            call = render_http(spec, m.job, scope, masked, body, content_type)
            return secured(call, spec, m.live.secrets)
        case ShellSpec():
            return _shell(spec, m, scope)
        case PythonSpec():
            return _python(spec, m, scope)


def _masked(m: Material, spec: HttpSpec, scope: dict[str, Any]) -> dict[str, Any]:
    """The scope with every secret as `***`; itself where no template names one."""
    whole = spec.target is not None and spec.target.url_secret is not None
    if not whole and "secret" not in m.live.roots_of(m.job.rule, m.action):
        return scope
    return {**scope, "secret": dict.fromkeys(m.live.secrets.texts, "***")}


def needs_event(live: LiveRuleset, action: CompiledAction, job: Job, delivery: Delivery) -> bool:
    """
    Whether rendering this job reads more of its event than the job itself knows: then the stored
    body has to be parsed again.
    """
    if action.kind == "python" or job.covers:
        return True
    provider = live.ruleset.providers.get(delivery.provider)
    if provider is None or provider.splits or not live.roots_of(job.rule, action) <= UNPARSED:
        return True
    sent = dict(delivery.headers).get("content-type", "")
    return sent.startswith(FORM)


def default_body(m: Material) -> tuple[bytes, str]:
    """
    What an action gets that names no body, with its content type: the exact bytes received, or
    the event's own JSON where the provider splits batches or wraps them in a form. A run for a
    whole batch gets the exact bytes.
    """
    if m.event.raw is not None and not m.covered:
        return m.event.raw, "application/json"
    sent = dict(m.delivery.headers).get("content-type", "application/json")
    if sent.startswith(FORM):
        return encode_json(m.event.payload), "application/json"
    return m.delivery.body, sent


def _shell(spec: ShellSpec, m: Material, scope: Mapping[str, Any]) -> ShellCall:
    if spec.argv is not None:
        argv = tuple(_arguments(spec.argv, scope))
    else:
        argv = (*spec.interpreter, "-c", spec.script or "", m.job.rule)
    env = _environment(m, spec.pass_env)
    if spec.user is not None and "HOME" not in spec.pass_env:
        env.pop("HOME", None)  # that user's own takes its place
    for name, template in spec.env:
        env[name] = _without_nul(template.render(scope, place=f"shell.env.{name}"), f"env.{name}")
    secret_names = frozenset(n for n, t in spec.env if "secret" in t.roots)
    return ShellCall(
        argv,
        _stdin(spec, m, scope),
        env,
        spec.cwd,
        spec.timeout_s,
        secret_names,
        limits=spec.limits,
        user=spec.user,
        files=tuple((name, _file(name, content, m, scope)) for name, content in spec.files),
    )


def _environment(m: Material, passed: tuple[str, ...] = ()) -> dict[str, str]:
    """What every child process gets."""
    env = {k: v for k in (*CHILD_VARIABLES, *passed) if (v := m.environ.get(k)) is not None}
    return env | {
        "WEBHOOK_JOB": m.job.id,
        "WEBHOOK_DELIVERY": m.delivery.id,
        "WEBHOOK_EVENT": m.event.name.replace("\0", ""),
        "WEBHOOK_ATTEMPT": str(m.job.attempt),
    }


def _arguments(argv: tuple[Template, ...], scope: Mapping[str, Any]) -> Iterator[str]:
    options_ended = False
    for i, template in enumerate(argv):
        place = f"shell.argv[{i}]"
        text = _without_nul(template.render(scope, place=place), place)
        if i and template.whole is not None and text.startswith("-") and not options_ended:
            raise RenderError(place, "begins with '-'; put \"--\" before it in argv")
        options_ended = options_ended or (template.whole is None and text == "--")
        yield text


def _stdin(spec: ShellSpec, m: Material, scope: Mapping[str, Any]) -> bytes | None:
    if spec.stdin == "default":
        return default_body(m)[0]
    if spec.stdin == "none":
        return None
    return _as_bytes(json_value(spec.stdin, scope, "shell.stdin"))


def _file(name: str, content: Any, m: Material, scope: Mapping[str, Any]) -> bytes:
    if content == "body":
        return default_body(m)[0]
    return _as_bytes(json_value(content, scope, f"shell.files.{name}"))


def _as_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else encode_json(value)


def _python(spec: PythonSpec, m: Material, scope: Mapping[str, Any]) -> PythonCall:
    values = m.live.secrets.texts
    return PythonCall(
        function=spec.call,
        args=json_value(spec.args, scope, "python.args"),
        secrets={name: values[name] for name in spec.secrets if name in values},
        timeout_s=spec.timeout_s,
        event=_told(m, scope),
        body=m.delivery.body if m.event.raw is None or m.covered else m.event.raw,
        env=_environment(m),
        cwd=spec.cwd,
        hosts=tuple(sorted(hosts_of(_written(spec.args)))),
    )


def _told(m: Material, scope: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `router.plugin.Event`."""
    return {
        "payload": m.event.payload,
        "events": [event.payload for event in m.covered],
        "name": m.event.name,
        "action": m.event.action,
        "headers": scope["headers"],
        "query": m.delivery.query,
        "fields": m.event.fields,
        "endpoint": m.delivery.endpoint,
        "provider": m.delivery.provider,
        "delivery": m.delivery.id,
        "id": m.event.id,
        "index": m.event.index,
        "count": m.delivery.event_count,
        "received_at": rfc3339(m.delivery.received_at),
        "rule": m.job.rule,
        "idempotency_key": m.job.id,
        "attempt": m.job.attempt,
        "replay_of": m.delivery.replay_of,
    }


def _written(spec: Any) -> Iterator[str]:
    """The texts of a JsonSpec that hold no expression: they are the operator's own."""
    if isinstance(spec, Template) and not spec.uses and not spec.roots:
        yield spec.text
    elif isinstance(spec, dict):
        for child in spec.values():
            yield from _written(child)
    elif isinstance(spec, list | tuple):
        for child in spec:
            yield from _written(child)


def _without_nul(text: str, place: str) -> str:
    if "\0" in text:
        raise RenderError(place, "holds a NUL character")
    return text
