"""`targets:`, and what named targets and single calls share: addresses, auth, TLS, headers."""

from urllib.parse import SplitResult

from router.config.context import LoadContext
from router.config.environment import from_env
from router.config.language import ExpressionSite, Language
from router.config.schema import AuthEntry, SignEntry, TargetEntry, TlsEntry, UrlEntry
from router.config.settings import parsed_url, shape
from router.config.spelling import HEADER, ID
from router.egress import is_metadata
from router.expressions import Template
from router.kinds.http import FORBIDDEN_IN_HEADER
from router.model.settings import Auth, Sign, Target, Tls
from router.yaml_source import SourceText, Table, shown

SINK = "http://127.0.0.1:9000"
_CREDENTIALS = frozenset({"authorization", "cookie"})
HOP_BY_HOP = frozenset({"keep-alive", "te", "trailer", "upgrade", "accept-encoding", "expect"})
_SIGNED = frozenset({"webhook-id", "webhook-timestamp", "webhook-signature"})
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "idempotency-key"})

Headers = tuple[tuple[str, Template], ...]


def targets(context: LoadContext) -> dict[str, Target]:
    """The named targets."""
    return {
        shape(context, name, ID, "a target"): _target(context, name.value, entry)
        for name, entry in context.file.targets or ()
    }


def _target(context: LoadContext, name: str, entry: TargetEntry) -> Target:
    context.above_zero(entry)
    url, url_secret = _url(context, name, entry.url)
    signed = sign(context, entry.sign)
    not_signed_twice(context, entry.headers, signed)
    defaults = Target(name)
    return Target(
        name=name,
        url=url,
        url_secret=url_secret,
        auth=auth(context, entry.auth),
        headers=tuple((key.value, value.value) for key, value in entry.headers or ()),
        rate=entry.rate,
        concurrency=entry.concurrency or defaults.concurrency,
        timeout_s=entry.timeout / 1_000 if entry.timeout else defaults.timeout_s,
        tls=tls(context, entry.tls, url),
        sign=signed,
        breaker=entry.breaker != "off",
    )


def _url(context: LoadContext, name: str, entry: UrlEntry | None) -> tuple[str | None, str | None]:
    """The address of a target and the secret that holds it, one of them None."""
    if entry is None:
        return None, None
    known = entry.text is not None or entry.broken
    if not known and context.one_of("exactly-one", entry) is None:
        return None, None
    if entry.secret is not None:
        return None, context.secret(entry.secret)
    text = entry.text or _url_from_env(context, name, entry)
    if text is not None and "{{" in text.value:
        context.error(
            "template-not-here",
            "a target's 'url' holds no templates",
            text,
            "put the changing part into the action's 'path'",
        )
    elif text is not None:
        checked_url(context, text, text.value)
    return (text.value if text else None), None


def _url_from_env(context: LoadContext, name: str, entry: UrlEntry) -> SourceText | None:
    if entry.env is None:
        return None
    if context.dev and entry.default is None and context.variable(entry.env, None) is None:
        return SourceText(f"{SINK}/{name}", entry.env.node)
    return from_env(context, entry.env, entry.default)


def checked_url(context: LoadContext, text: SourceText, url: str) -> SplitResult | None:
    """The parts of an address that may be called, or None with the fault reported."""
    parts: SplitResult | None = parsed_url(url)
    if parts is None:
        context.error(
            "bad-url",
            f"'{shown(url)}' is not an address like 'https://erp.example.net/orders'",
            text,
        )
    elif parts.username is not None:
        context.error(
            "password-in-url",
            "an address holds no user or password",
            text,
            "use 'auth' with the name of a secret",
        )
    elif is_metadata(parts.hostname or ""):
        message = "an address of a cloud's metadata service is never called: the job would be dead"
        context.error("bad-url", message, text)
    return parts


def limit_name(parts: SplitResult) -> str:
    """The unnamed target of a bare address: `scheme://host:port`, the port filled in."""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def auth(context: LoadContext, entry: AuthEntry | None) -> Auth | None:
    """`auth:` of a target or call, its secrets checked."""
    if entry is None:
        return None
    if not entry.broken:
        context.one_of("exactly-one", entry)
    if entry.basic is not None:
        user = entry.basic.user.value if entry.basic.user else ""
        return Auth(basic=(user, context.secret(entry.basic.password)))
    if entry.header is not None:
        if len(named := list(entry.header)) != 1:
            message = "'header' needs exactly one name and secret"
            context.error("exactly-one", message, entry.at("header"))
            return Auth()
        ((name, secret),) = named
        header_name(context, name)
        return Auth(header=(name.value, context.secret(secret)))
    return Auth(bearer=context.secret(entry.bearer))


def tls(context: LoadContext, entry: TlsEntry | None, url: str | None) -> Tls | None:
    """`tls:` for calls of this address, its shape checked; the files need not be there yet."""
    if entry is None:
        return None
    if (url or "").lower().startswith("http:"):
        context.error(
            "tls-incomplete",
            "'tls' goes with an https address",
            entry.node,
            "write https:// in 'url'",
        )
    if entry.ca is None and entry.cert is None and not entry.broken:
        context.error("tls-incomplete", "'tls' needs a 'ca', a 'cert' or both", entry.node)
    if entry.key is not None and entry.cert is None and "cert" not in entry.broken:
        context.error("tls-incomplete", "a 'key' goes with a 'cert'", entry.key_at("key"))
    if (key := entry.key) is not None and key.path is None and not key.broken:
        context.one_of("exactly-one", key)
    return Tls(
        ca=context.path(entry.ca),
        cert=context.path(entry.cert),
        key=context.path(key.path) if key else None,
        key_secret=context.secret(key.secret) if key and key.secret else None,
    )


def sign(context: LoadContext, entry: SignEntry | None) -> Sign | None:
    """`sign:`, its secrets checked."""
    if entry is None:
        return None
    given = context.one_of("exactly-one", entry) if not entry.broken else None
    if entry.secrets is not None and not entry.secrets:
        context.error("sign-incomplete", "'secrets' names none", entry.key_at("secrets"))
    for key in ("algorithm", "encoding", "prefix"):
        if given == "scheme" and getattr(entry, key) is not None:
            context.error(
                "sign-incomplete",
                f"'{key}' goes with a 'header' of your own; the scheme has its own",
                entry.key_at(key),
            )
    if entry.header is not None:
        header_name(context, entry.header)
    return Sign(
        secrets=tuple(context.secret(name) for name in entry.secrets or ()),
        scheme=entry.scheme or "hmac",
        header=entry.header.value if entry.header else "",
        algorithm=entry.algorithm or "sha256",
        encoding=entry.encoding or "hex",
        prefix=entry.prefix.value if entry.prefix else "",
    )


def not_signed_twice(
    context: LoadContext, table: Table[SourceText] | None, signed: Sign | None
) -> None:
    """No header of the operator's may be one that the signature sets."""
    if signed is None:
        return
    taken = _SIGNED if signed.scheme == "standard-webhooks" else {signed.header.lower()}
    for name, _ in table or ():
        if name.value.lower() in taken:
            context.error("bad-header", f"the header '{name.shown}' is what 'sign' sets", name)


def headers(language: Language, table: Table[SourceText] | None, place: ExpressionSite) -> Headers:
    """Header templates, their names checked."""
    found = []
    for name, text in table or ():
        header_name(language.context, name)
        if (template := language.template(text, place)) is not None:
            _one_line(language.context, name, text, template)
            found.append((name.value, template))
    return tuple(found)


def _one_line(context: LoadContext, name: SourceText, text: SourceText, template: Template) -> None:
    """A call whose header holds a line break of its own would be dead each time."""
    for at, part in enumerate(template.parts):
        if isinstance(part, str) and (found := FORBIDDEN_IN_HEADER.search(part)):
            start = template.offset_of(at) + found.start()
            message = f"the header '{name.shown}' holds a line break or NUL"
            hint = "write it in one line; of a block, `|-` leaves out the last line break"
            context.error_within("bad-header", message, text, (start, start + 1), hint)
            return


def header_name(context: LoadContext, name: SourceText) -> None:
    """A header that a call may set."""
    lower = name.value.lower()
    if not HEADER.fullmatch(name.value):
        context.error("bad-header", f"'{name.shown}' cannot be the name of a header", name)
    elif lower in _OURS or lower.startswith("router-"):
        context.error("bad-header", f"the header '{name.shown}' is set by the router itself", name)


def forwardable(name: str) -> bool:
    """A sender's header that may travel on: no credential, none of the connection, none of ours."""
    lower = name.lower()
    return (
        HEADER.fullmatch(name) is not None
        and lower not in _OURS | HOP_BY_HOP | _CREDENTIALS
        and not lower.startswith(("router-", "proxy-"))
    )


def merged(first: Headers, second: Headers) -> Headers:
    """Headers of a target overridden by those of the call; names compare without case."""
    own = {name.lower() for name, _ in second}
    return tuple(h for h in first if h[0].lower() not in own) + second
