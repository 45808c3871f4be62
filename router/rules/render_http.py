"""An HTTP request from its spec: host from the operator, the rest from templates, encoded."""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import msgspec

from router.errors import RenderError
from router.expressions import Template, encode_json
from router.model.call import HttpCall
from router.model.job import Job
from router.model.settings import Auth
from router.rules.live import SecretValues
from router.rules.specs import HttpSpec

_FORBIDDEN_IN_HEADER = re.compile(r"[\r\n\0]")
_MARK = "\0"
_TRACE = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})"
)
_DOTTED = frozenset({"", ".", ".."})

Scope = Mapping[str, Any]


def render_http(
    spec: HttpSpec, job: Job, scope: Scope, masked: Scope, body: bytes, content_type: str
) -> HttpCall:
    """
    The request of one attempt; `body` and `content_type` are what goes when the spec names none.
    The sender's headers (root `headers`) travel only when `forward_headers` names them.

    `masked` is the same scope with every secret as `***`: what may be shown. It is `scope` itself
    where no template names a secret.
    """
    sent_body, sent_type = _body(spec, scope, body, content_type)
    headers = {"user-agent": "webhook-rules-router", "content-type": sent_type}
    received = scope["headers"]
    headers |= {n: received[n] for n in spec.forward_headers if n in received}
    headers |= {n.lower(): t.render(scope, place=f"http.headers.{n}") for n, t in spec.headers}
    headers |= _auth(spec.auth, scope)
    headers |= _always(job)
    for name, value in headers.items():
        if _FORBIDDEN_IN_HEADER.search(value):
            raise RenderError(f"http.headers.{name}", "holds a line break or NUL")
    url = _url(spec, scope)
    return HttpCall(
        method=spec.method,
        url=url,
        shown_url=url if masked is scope else _url(spec, masked),
        headers=tuple(headers.items()),
        body=sent_body,
        accept=spec.accept,
        timeout_s=spec.timeout_s,
        shown_body=_shown(spec, scope, masked, sent_body, content_type),
        trace=None if "traceparent" in headers else trace_of(received, job.delivery),
    )


def secured(call: HttpCall, spec: HttpSpec, secrets: SecretValues) -> HttpCall:
    """The call with what it is signed with and what its connection needs."""
    if spec.sign is None and spec.tls is None:
        return call
    sign, tls = spec.sign, spec.tls
    return msgspec.structs.replace(
        call,
        sign=sign,
        sign_keys=tuple(secrets.value(name) for name in sign.secrets) if sign else (),
        tls=tls,
        tls_key=secrets.texts.get(tls.key_secret) if tls and tls.key_secret else None,
    )


def trace_of(received: Mapping[str, str], delivery: str) -> tuple[str, str]:
    """
    The W3C trace that a call belongs to, and its flags: the sender's when it names a valid one,
    else one of the delivery's own, the same for all that comes of it.
    """
    found = _TRACE.fullmatch(received.get("traceparent", ""))
    if found is not None:
        return found[1], found[2]
    return hashlib.sha256(delivery.encode()).hexdigest()[:32], "00"


def _always(job: Job) -> dict[str, str]:
    headers = {
        "idempotency-key": job.id,
        "router-delivery": job.delivery,
        "router-event": quote(job.event, safe="/.:_- "),
        "router-attempt": str(job.attempt),
    }
    if job.replay_of:
        headers["router-replay-of"] = job.replay_of
    return headers


def _auth(auth: Auth | None, scope: Scope) -> dict[str, str]:
    if auth is None:
        return {}
    secrets = scope["secret"]
    if auth.bearer:
        return {"authorization": f"Bearer {secrets[auth.bearer]}"}
    if auth.basic:
        user, secret = auth.basic
        pair = f"{user}:{secrets[secret]}".encode()
        return {"authorization": "Basic " + base64.b64encode(pair).decode()}
    if auth.header:
        name, secret = auth.header
        return {name.lower(): secrets[secret]}
    return {}


def _url(spec: HttpSpec, scope: Scope) -> str:
    base = _base(spec, scope)
    if spec.path is not None:
        base = _joined(base, encoded(spec.path, scope, "http.path"))
    pairs = [(n, t.render(scope, place=f"http.query.{n}")) for n, t in spec.query]
    if not pairs:
        return base
    parts = urlsplit(base)
    query = "&".join(filter(None, [parts.query, urlencode(pairs, quote_via=quote)]))
    return urlunsplit(parts._replace(query=query))


def _base(spec: HttpSpec, scope: Scope) -> str:
    if spec.target is None:
        if spec.url is None:
            raise RenderError("http.url", "is missing")
        if spec.url.whole is not None:  # a whole URL can only be a secret: config sees to it
            return str(spec.url.render(scope, place="http.url"))
        return encoded(spec.url, scope, "http.url")
    if spec.target.url_secret is not None:
        return str(scope["secret"][spec.target.url_secret])
    return spec.target.url or ""


def _joined(base: str, path: str) -> str:
    """`path` appended to the path of `base`, one slash between, the query of `base` kept."""
    path, _, query = path.partition("?")
    parts = urlsplit(base)
    whole = parts.path.rstrip("/") + "/" + path.lstrip("/")
    return urlunsplit(parts._replace(path=whole, query=query or parts.query))


def encoded(template: Template, scope: Scope, place: str) -> str:
    """
    The template with each expression percent-encoded.

    A path segment that an expression takes part in must not come out empty or dotted: it would
    be another place than the operator wrote.
    """
    marked = template.render(scope, place=place, encode=lambda t: _MARK + quote(t, safe="") + _MARK)
    path = marked.partition("?")[0]
    for segment in path.split("/"):
        if _MARK in segment and segment.replace(_MARK, "") in _DOTTED:
            raise RenderError(place, f"a path segment comes out as {segment.strip(_MARK)!r}")
    return marked.replace(_MARK, "")


def _body(spec: HttpSpec, scope: Scope, body: bytes, content_type: str) -> tuple[bytes, str]:
    place = f"http.{spec.body_kind}"
    match spec.body_kind:
        case "json":
            return encode_json(json_value(spec.body, scope, place)), "application/json"
        case "form":
            pairs = [(n, t.render(scope, place=f"{place}.{n}")) for n, t in spec.body]
            return urlencode(pairs).encode(), "application/x-www-form-urlencoded"
        case "text":
            return spec.body.render(scope, place=place).encode(), "text/plain; charset=utf-8"
        case "body":
            return spec.body.render(scope, place=place).encode(), content_type
        case _:
            return body, content_type


def _shown(
    spec: HttpSpec, scope: Scope, masked: Scope, sent: bytes, content_type: str
) -> bytes | None:
    if spec.body_kind == "default" or masked is scope:
        return None
    shown = _body(spec, masked, sent, content_type)[0]
    return None if shown == sent else shown


def json_value(spec: Any, scope: Scope, place: str) -> Any:
    """A JsonSpec with its templates rendered; whole templates keep their type."""
    if isinstance(spec, Template):
        return spec.render_json(scope, place=place)
    if isinstance(spec, dict):
        return {k: json_value(v, scope, f"{place}.{k}") for k, v in spec.items()}
    if isinstance(spec, list | tuple):
        return [json_value(v, scope, f"{place}[{i}]") for i, v in enumerate(spec)]
    return spec
