"""From a job and its event to a Call: templates rendered, secrets placed, hazards refused."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from router.errors import RenderError
from router.expressions import Template, encode_json
from router.model.call import Call, LogCall, ShellCall
from router.model.delivery import Delivery, Event
from router.model.job import Job
from router.rules.live import Live
from router.rules.render_http import json_value, render_http
from router.rules.scope import delivery_roots, event_scope
from router.rules.specs import CompiledAction, HttpSpec, LogSpec, ShellSpec

CHILD_VARIABLES = ("PATH", "HOME", "LANG")


class Material(msgspec.Struct, frozen=True):
    """
    All that rendering one job needs, gathered.

    `covered` are the events of a run for a whole batch (`per: delivery`), `event` their first.
    """

    live: Live
    action: CompiledAction
    job: Job
    delivery: Delivery
    event: Event
    environ: Mapping[str, str]
    covered: tuple[Event, ...] = ()


def render(material: Material) -> Call:
    """
    The call of one attempt.

    Raises:
        RenderError: a template cannot be rendered from this event, or gives a hazard: CR, LF or
            NUL in a header, NUL in an argument or variable, an option where none was meant, an
            empty or dotted path segment. The job is dead.
    """
    m = material
    ruleset = m.live.ruleset
    shared = delivery_roots(m.delivery, ruleset.variables)
    scope = event_scope(shared, m.delivery, m.event, ruleset.defines)
    scope["secret"] = m.live.secrets.texts
    if m.covered:
        scope["events"] = [event.payload for event in m.covered]
    spec = m.action.spec
    match spec:
        case LogSpec():
            return LogCall(spec.message.render(scope, place="log", lenient=True))
        case HttpSpec():
            masked = {**scope, "secret": dict.fromkeys(m.live.secrets.texts, "***")}
            body, content_type = default_body(m)
            return render_http(spec, m.job, scope, masked, body, content_type)
        case ShellSpec():
            return _shell(spec, m, scope)
        case _:
            raise RenderError(m.action.kind, "this kind of action is not built in this version")


def default_body(m: Material) -> tuple[bytes, str]:
    """
    What an action gets that names no body, with its content type: the exact bytes received, or
    the event's own JSON where the provider splits batches or wraps them in a form. A run for a
    whole batch gets the exact bytes.
    """
    if m.event.raw is not None and not m.covered:
        return m.event.raw, "application/json"
    sent = dict(m.delivery.headers).get("content-type", "application/json")
    if sent.startswith("application/x-www-form-urlencoded"):
        return encode_json(m.event.payload), "application/json"
    return m.delivery.body, sent


def _shell(spec: ShellSpec, m: Material, scope: Mapping[str, Any]) -> ShellCall:
    if spec.argv is not None:
        argv = tuple(_arguments(spec.argv, scope))
    else:
        argv = (*spec.interpreter, "-c", spec.script or "", m.job.rule)
    env = {k: v for k in (*CHILD_VARIABLES, *spec.pass_env) if (v := m.environ.get(k)) is not None}
    env |= {
        "WEBHOOK_JOB": m.job.id,
        "WEBHOOK_DELIVERY": m.delivery.id,
        "WEBHOOK_EVENT": m.event.name.replace("\0", ""),
        "WEBHOOK_ATTEMPT": str(m.job.attempt),
    }
    for name, template in spec.env:
        env[name] = _without_nul(template.render(scope, place=f"shell.env.{name}"), f"env.{name}")
    secret_names = frozenset(n for n, t in spec.env if "secret" in t.roots)
    return ShellCall(argv, _stdin(spec, m, scope), env, spec.cwd, spec.timeout_s, secret_names)


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
    value = json_value(spec.stdin, scope, "shell.stdin")
    return value.encode() if isinstance(value, str) else encode_json(value)


def _without_nul(text: str, place: str) -> str:
    if "\0" in text:
        raise RenderError(place, "holds a NUL character")
    return text
