"""`http`: one request. Its host is the operator's, the rest comes from templates, encoded."""

import base64
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal, NoReturn
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import msgspec

from router.errors import RenderError
from router.expressions import NotJson, Template, decode_json, encode_json
from router.kinds.json_results import holds_json, json_of
from router.kinds.kind import (
    CallField,
    Kind,
    Rendering,
    ReplyContent,
    ReplyKey,
    ResultFields,
    SecretTexts,
    TemplateForm,
)
from router.kinds.templates import Scope, encoded, json_value
from router.model.headers import joined_headers
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from router.model.retry import STANDARD
from router.model.settings import Auth, Sign, Target, TargetLimits, Tls
from router.model.trace import HEADER
from router.model.trial import SimulatedAnswer

SHOWN_MAX = 65_536
THROTTLED = frozenset({408, 425, 429})
GONE = 410
FORBIDDEN_IN_HEADER = re.compile(r"[\r\n\0]")


class HttpSpec(msgspec.Struct, frozen=True):
    """
    An `http` action. Exactly one of `target` and `url`.

    `body` goes with `body_kind`: JsonSpec for json, tuple of (name, Template) for form, Template
    for text and body, None for default (the event). `auth`, `timeout_s`, `headers` and `accept`
    are the action's own or the target's already.
    """

    target: Target | None
    url: Template | None
    method: str
    path: Template | None
    query: tuple[tuple[str, Template], ...]
    headers: tuple[tuple[str, Template], ...]
    body_kind: Literal["default", "json", "form", "text", "body"]
    body: Any
    accept: tuple[tuple[int, int], ...]
    auth: Auth | None
    timeout_s: float
    forward_headers: tuple[str, ...] = ()
    tls: Tls | None = None
    sign: Sign | None = None


class HttpCall(msgspec.Struct, frozen=True):
    """
    One HTTP request to send.

    `shown_url` and `shown_body` have their secrets masked, for logs and attempts; `url`,
    `headers` and `body` may hold secrets. `sign_keys` are the values of `sign.secrets`, `tls_key`
    that of `tls.key_secret`.
    """

    kind: ClassVar[str] = "http"
    method: str
    url: str
    shown_url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    accept: tuple[tuple[int, int], ...]
    timeout_s: float
    connect_timeout_s: float = 5.0
    shown_body: bytes | None = None  # None: the same as `body`
    sign: Sign | None = None
    sign_keys: tuple[bytes, ...] = ()
    tls: Tls | None = None
    tls_key: str | None = None

    def described(self) -> dict[str, Any]:
        """Method, masked address, and the first 64 KiB of the masked body."""
        shown = self.body if self.shown_body is None else self.shown_body
        text = shown[:SHOWN_MAX].decode("utf-8", "replace")
        return {"kind": self.kind, "method": self.method, "url": self.shown_url, "body": text}

    def __repr__(self) -> str:
        return f"HttpCall({self.method} {self.shown_url})"


class HttpRequests:
    """
    Makes the requests of one action; what no event changes is made once.

    The sender's headers (root `headers`) travel only when `forward_headers` names them.
    """

    def __init__(self, spec: HttpSpec, reads: frozenset[str], secrets: SecretTexts) -> None:
        self._spec = spec
        named = spec.target is not None and spec.target.url_secret is not None
        self._masks = dict.fromkeys(secrets.texts, "***") if named or "secret" in reads else None
        self._auth = _auth(spec.auth, secrets.texts)
        self._secured = {} if spec.sign is None and spec.tls is None else _secured(spec, secrets)
        paths = [t for t in (spec.url, spec.path) if t is not None]
        known = {"secret": secrets.texts}
        self._named = known if named else {}
        address = _fixed(*paths, *(t for _, t in spec.query))
        self._addresses = self._addresses_in(known) if address else None
        own = _fixed(*(t for _, t in spec.headers))
        self._headers = _own_headers(spec, known) if own else None

    def __call__(self, given: Rendering) -> HttpCall:
        """The request of one attempt."""
        job, spec = given.job, self._spec
        default = given.default_body()
        body, content_type = _body(spec, given.scope, default)
        headers = {"user-agent": "webhook-rules-router", "content-type": content_type}
        if spec.forward_headers:
            received = joined_headers(given.delivery.headers)
            headers |= {n: received[n] for n in spec.forward_headers if n in received}
        own = self._headers
        headers |= _own_headers(spec, given.scope) if own is None else own
        headers |= self._auth
        headers["idempotency-key"] = job.id
        headers["router-delivery"] = job.delivery
        headers["router-event"] = _event_header(job.event)
        headers["router-attempt"] = str(job.attempt)
        if job.replay_of:
            headers["router-replay-of"] = job.replay_of
        if given.delivery.redacted is not None:
            headers["router-redacted"] = "true"
        if HEADER not in headers:  # the rules send none of their own
            headers[HEADER] = given.traceparent()
        if FORBIDDEN_IN_HEADER.search("".join(headers.values())):
            _refuse(headers)
        url, shown_url = self._addresses or self._addresses_in(given.scope)
        return HttpCall(
            method=spec.method,
            url=url,
            shown_url=shown_url,
            headers=tuple(headers.items()),
            body=body,
            accept=spec.accept,
            timeout_s=spec.timeout_s,
            shown_body=self._shown_body(given.scope, default, body),
            **self._secured,
        )

    def _masked(self, scope: Scope) -> Scope:
        return {**scope, "secret": self._masks}

    def _addresses_in(self, scope: Scope) -> tuple[str, str]:
        """The address, and how it is shown: with every secret as `***`."""
        url = _url(self._spec, {**scope, **self._named} if self._named else scope)
        return url, url if self._masks is None else _url(self._spec, self._masked(scope))

    def _shown_body(self, scope: Scope, default: tuple[bytes, str], sent: bytes) -> bytes | None:
        """The body with every secret as `***`; None: it is no other than the one sent."""
        if self._masks is None:
            return None
        shown = _body(self._spec, self._masked(scope), default)[0]
        return None if shown == sent else shown


def _fixed(*templates: Template) -> bool:
    """Whether they give the same for every event: they read nothing, or secrets alone."""
    return all(template.reads <= {"secret"} for template in templates)


def _own_headers(spec: HttpSpec, scope: Scope) -> dict[str, str]:
    return {n.lower(): t.render(scope, place=f"http.headers.{n}") for n, t in spec.headers}


@lru_cache(maxsize=1024)
def _event_header(event: str) -> str:
    return quote(event, safe="/.:_- ")


def _refuse(headers: Mapping[str, str]) -> NoReturn:
    """Name the header that holds what none may."""
    name = next(n for n, value in headers.items() if FORBIDDEN_IN_HEADER.search(value))
    raise RenderError(f"http.headers.{name}", "holds a line break or NUL")


def _secured(spec: HttpSpec, secrets: SecretTexts) -> dict[str, Any]:
    """What the call is signed with and what its connection needs."""
    sign, tls = spec.sign, spec.tls
    return {
        "sign": sign,
        "sign_keys": tuple(secrets.value(name) for name in sign.secrets) if sign else (),
        "tls": tls,
        "tls_key": secrets.texts.get(tls.key_secret) if tls and tls.key_secret else None,
    }


def _auth(auth: Auth | None, secrets: Mapping[str, str]) -> dict[str, str]:
    if auth is None:
        return {}
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


def _body(spec: HttpSpec, scope: Scope, default: tuple[bytes, str]) -> tuple[bytes, str]:
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
            return spec.body.render(scope, place=place).encode(), default[1]
        case "default":
            return default


def of_status(
    call: HttpCall, status: int, after_s: float | None, result: dict[str, Any] | None = None
) -> Outcome:
    """What an HTTP status, with the Retry-After beside it, means to a call."""
    reason, result = f"HTTP {status}", result or {"status": status}
    if any(low <= status <= high for low, high in call.accept):
        return Done(result)
    if status == GONE:
        return FailOutcome(reason, result)
    if status in THROTTLED or status >= 500:
        return RetryOutcome(
            "throttled" if status in THROTTLED else "server", reason, after_s, result
        )
    return RetryOutcome("client", reason, None, result)


def _simulated(call: HttpCall, answer: SimulatedAnswer) -> Outcome:
    status = call.accept[0][0] if answer.reply is None else int(answer.reply)
    if not answer.contents:
        return of_status(call, status, answer.after_s)
    headers = {name.lower(): value for name, value in answer.contents.get("headers", {}).items()}
    text = answer.contents.get("text", "")
    if "json" in answer.contents:
        headers.setdefault("content-type", "application/json")
        text = encode_json(answer.contents["json"]).decode()
    result = {"status": status, "headers": headers, "text": text}
    if holds_json(headers, text):
        result |= json_of(text)
    return of_status(call, status, answer.after_s, result)


def _form(spec: HttpSpec, field: str) -> TemplateForm:
    if field in ("path", "url"):
        return "path"
    return "json" if field == "body" and spec.body_kind == "json" else "text"


def _json(call: HttpCall) -> Any:
    try:
        return decode_json(call.body)
    except NotJson:
        return call.body.decode("utf-8", "replace")


HTTP = Kind(
    name="http",
    number=0,
    title="an http",
    spec=HttpSpec,
    call=HttpCall,
    prepare=HttpRequests,
    form=_form,
    url_secrets=lambda spec: (
        {field for root, field in spec.url.uses if root == "secret"} if spec.url else ()
    ),
    calls={
        "method": CallField("The method.", lambda call: call.method),
        "url": CallField("The whole address.", lambda call: call.url),
        "headers": CallField(
            "Headers, some of them.", lambda call: dict(call.headers), "table", lower=True
        ),
        "json": CallField("The body, some of its fields.", _json, "json"),
    },
    reply=ReplyKey(
        "status",
        "An HTTP status.",
        range(200, 600),
        "no final HTTP status",
        "'status' (Retry-After)",
        range(200, 600),
        {
            "headers": ReplyContent("Headers of the answer.", "table"),
            "json": ReplyContent("The answer, as JSON.", "json"),
            "text": ReplyContent("The body of the answer, as text."),
        },
        frozenset({"json", "text"}),
    ),
    outcome=_simulated,
    result=ResultFields(
        types={"status": "number", "headers": "texts", "json": "any", "text": "text"},
        code="status",
        shown="{}",
        output=("text",),
    ),
    retry=STANDARD,
    slots=128,
    limits=TargetLimits(16),
    faults=frozenset({"network", "timeout", "throttled", "server"}),
    local=False,
    real=False,
    whole_event=False,
)
