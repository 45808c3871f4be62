"""`server`, `secrets`, `vars`, `retries` of the file to the settings of the router."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from router.config.context import LoadContext
from router.config.environment import from_env, setting
from router.config.language import json_value
from router.config.rule_schema import SCHEDULE_MAX, RetryEntry
from router.config.schema import SecretEntry
from router.config.server_schema import (
    AdminEntry,
    AdminTokenEntry,
    KeepForEntry,
    LimitsEntry,
    ListenerTlsEntry,
    ReloadEntry,
    ServerEntry,
    SettingEntry,
)
from router.config.spelling import ADDRESS, ID, NAME, TOKEN, TOKENS_TAKEN, VARIABLE
from router.config.store_setting import store
from router.egress import listens_locally, literal_address, plain_network
from router.expressions.compare import is_number
from router.expressions.functions_number import to_number
from router.model.retry import BUILT_IN, RetryPolicy
from router.model.settings import (
    AdminToken,
    KeepFor,
    Limits,
    ListenerTls,
    Reload,
    Retention,
    SecretRef,
    ServerSettings,
)
from router.yaml_source import Mapping as MappingNode
from router.yaml_source import Node, Scalar, SourceText

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
Kept = TypeVar("Kept", bound=KeepFor)
_LIMITS = {
    "headers": ("header_count", 1),
    "header_bytes": ("header_bytes", 1),
    "uri_bytes": ("uri_bytes", 1),
    "header_timeout": ("header_s", 1_000),
    "body_idle": ("body_idle_s", 1_000),
    "body_total": ("body_total_s", 1_000),
    "keep_alive": ("keep_alive_s", 1_000),
    "answer": ("answer_s", 1_000),
    "in_flight": ("in_flight_bytes", 1),
    "in_flight_wait": ("in_flight_wait_s", 1_000),
    "connections": ("connections_per_address", 1),
}


def server(context: LoadContext, entry: ServerEntry | None) -> ServerSettings:
    """`server:` with everything left out filled in."""
    entry = entry or ServerEntry(node=context.file.node)
    usual = ServerSettings(listen="127.0.0.1:8000" if context.dev else "0.0.0.0:8000")
    reload = entry.reload or ReloadEntry(node=entry.node)
    base = setting(context, entry.base_url)
    url = None if base is None else plain_url(context, base, "hooks.example.com")
    return ServerSettings(
        given_base_url=url and url.rstrip("/"),
        listen=_address(context, entry.listen, usual.listen),
        **_admin(context, entry.admin),
        store=store(context, entry.store),
        state_dir=context.path(entry.state_dir),
        trusted_proxies=ranges(context, entry.trusted_proxies),
        egress_allow=ranges(context, entry.egress.allow if entry.egress else None),
        retention=kept(Retention(), entry.retention),
        limits=_limits(context, entry.limits),
        grace_s=usual.grace_s if entry.grace is None else entry.grace / 1_000,
        keep_refused=bool(entry.refusals and entry.refusals.bodies),
        tls=_listener_tls(context, entry.tls),
        reload=Reload(reload.watch is not False, bool(reload.require_tests)),
    )


def _admin(context: LoadContext, entry: AdminEntry | None) -> dict[str, Any]:
    """The settings of `server` that `admin` decides."""
    default = ServerSettings().admin
    if entry is None:
        return {"admin": default}
    has_place = entry.text or entry.env or entry.listen
    listen = _address(context, entry, default) if has_place else default
    tokens = tuple(_token(context, name, one) for name, one in entry.tokens or ())
    if not (tokens or entry.broken or context.dev or listens_locally(listen)):
        context.error(
            "admin-without-token",
            f"the admin listener at {listen} is open to other machines, and no token is named",
            entry.listen or entry.text or entry.node,
            "name one in server.admin.tokens, or listen on 127.0.0.1",
        )
    return {
        "admin": listen,
        "admin_tokens": tokens,
        "admin_hosts": tuple(_host(context, text) for text in entry.hosts or ()),
        "admin_tls": _listener_tls(context, entry.tls),
    }


def _token(context: LoadContext, name: SourceText, entry: AdminTokenEntry) -> AdminToken:
    if not TOKEN.fullmatch(name.value) or name.value in TOKENS_TAKEN:
        context.error(
            "bad-name",
            f"'{name.shown}' cannot be the name of a token",
            name,
            f"{', '.join(TOKENS_TAKEN)} stand for others in the audit"
            if name.value in TOKENS_TAKEN
            else "use small letters, digits, '_' and '-'; the audit shows it",
        )
    secret, role = context.secret(entry.secret), entry.role or "viewer"
    if role == "admin" and entry.bodies is False:
        context.error(
            "bad-value",
            f"'{name.shown}' is an admin, who can make a token that sees payloads",
            entry.at("bodies"),
            "leave `bodies: false` out, or let it be an operator",
        )
    return AdminToken(name.value, secret, role, entry.bodies is not False)


def _host(context: LoadContext, text: SourceText) -> str:
    bracketed = "[" in text.value or "]" in text.value
    if not _HOST.fullmatch(text.value) and (bracketed or literal_address(text.value) is None):
        context.error(
            "bad-address",
            f"'{text.shown}' is not the name of a host",
            text,
            "write it without scheme and port",
        )
    return text.value.lower()


def _listener_tls(context: LoadContext, entry: ListenerTlsEntry | None) -> ListenerTls | None:
    """The certificate's files, which need not be on the machine that checks the rules."""
    if entry is None or (cert := context.path(entry.cert)) is None:
        return None
    return ListenerTls(cert=cert, key=context.path(entry.key))


def plain_url(context: LoadContext, text: SourceText, like: str, *, braces: bool = True) -> str:
    """An address without query, fragment and user, reported if it has one; as it is written."""
    url, is_template = parsed_url(text.value), not braces and "{" in text.value
    if url is None or url.query or url.fragment or url.username is not None or is_template:
        message = f"'{text.shown}' is not an address like 'https://{like}'"
        context.error("bad-url", message, text)
    return text.value


def parsed_url(text: str) -> Any:
    """The parts of an http or https address, or None if it is none."""
    if re.search(r"[\s\x00-\x1f\x7f]", text):
        return None
    try:
        url = urlsplit(text)
        usable = url.scheme in ("http", "https") and url.hostname and (url.port or 1)
    except ValueError:
        return None
    return url if usable else None


def _address(context: LoadContext, entry: SettingEntry | None, default: str) -> str:
    text = (
        entry.listen if isinstance(entry, AdminEntry) and entry.listen else setting(context, entry)
    )
    if text is None:
        return default
    if not (found := ADDRESS.fullmatch(text.value)) or int(found[1]) > 65_535:
        context.error(
            "bad-address",
            f"'{text.shown}' is not an address to listen on, like '127.0.0.1:8001'",
            text,
        )
    return text.value


def kept(usual: Kept, entry: KeepForEntry | None) -> Kept:
    """As usual, but for what the entry says."""
    given = {name: getattr(entry, name, None) for name in usual.__struct_fields__}
    said = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(usual, **said)


def _limits(context: LoadContext, entry: LimitsEntry | None) -> Limits:
    if entry is None:
        return Limits()
    context.above_zero(entry)
    each = ((getattr(entry, key), *row) for key, row in _LIMITS.items())
    given = {name: v if per == 1 else v / per for v, name, per in each if v is not None}
    return Limits(**given)


def ranges(
    context: LoadContext, texts: list[SourceText] | None, words: str | None = None
) -> tuple[str, ...]:
    """Address ranges in CIDR notation, lone addresses allowed; `words` is the hint for others."""
    found = []
    for text in texts or ():
        try:
            found.append(str(plain_network(ipaddress.ip_network(text.value, strict=False))))
        except ValueError:
            context.error(
                "bad-range",
                f"'{text.shown}' is not a range of addresses like '10.0.0.0/8'",
                text,
                words,
            )
    return tuple(found)


# -- secrets, variables, retries ------------------------------------------------------------------


def secrets(context: LoadContext) -> dict[str, SecretRef]:
    """`secrets:` as references; nothing is read."""
    return {
        shape(context, name, NAME, "a secret"): _secret(context, name.value, entry)
        for name, entry in context.file.secrets or ()
    }


def _secret(context: LoadContext, name: str, entry: SecretEntry) -> SecretRef:
    if not entry.broken & {"env", "file", "credential"}:
        context.one_of("exactly-one", entry)
    if entry.env is not None and not VARIABLE.fullmatch(entry.env.value):
        context.error(
            "bad-variable",
            f"'{entry.env.shown}' cannot be the name of a variable",
            entry.env,
            "secrets are named here, never written",
        )
    return SecretRef(
        name=name,
        env=entry.env.value if entry.env else None,
        file=context.path(entry.file),
        credential=entry.credential.value if entry.credential else None,
        until=entry.until,
    )


def shape(context: LoadContext, name: SourceText, pattern: re.Pattern[str], what: str) -> str:
    """A name of the shape `[a-z][a-z0-9_]*` where expressions use it, with `-` elsewhere."""
    if not pattern.fullmatch(name.value):
        allowed = "letters, digits, '_' and '-'" if pattern is ID else "letters, digits and '_'"
        mended = re.sub(r"[^a-z0-9_-]" if pattern is ID else r"[^a-z0-9_]", "_", name.value.lower())
        context.error(
            "bad-name",
            f"'{name.shown}' cannot be the name of {what}: use small {allowed}",
            name,
            f"for example '{mended}'" if pattern.fullmatch(mended) else None,
        )
    return name.value


def variables(context: LoadContext) -> dict[str, Any]:
    """`vars:` with environment values filled in."""
    return {
        shape(context, name, NAME, "a variable"): _variable(context, node)
        for name, node in context.file.vars or ()
    }


def _variable(context: LoadContext, node: Node) -> Any:
    """A value as it is written, or the text (`as: number`) of the variable that `env` names."""
    name = node.get("env") if isinstance(node, MappingNode) else None
    if not isinstance(node, MappingNode) or not isinstance(name, Scalar):
        return json_value(context, node)
    if not set(node.entries) <= {"env", "default", "as"}:
        return json_value(context, node)
    text, default = SourceText(name.value, name), _default(context, node)
    if (value := context.variable(text, None)) is None:
        return from_env(context, text, None) if node.get("default") is None else default
    if node.get("as") is None:
        return value
    if (number := to_number(value)) is None:
        message = f"environment variable '{name.value}' is to be a number, and is none"
        context.error("bad-value", message, name, "set it to a number like 500 or 12.50")
    return number


def _default(context: LoadContext, node: MappingNode) -> Any:
    """The default of a variable, which is a text, or a number if `as` says so; null is neither."""
    kind, default = node.get("as"), node.get("default")
    if kind is not None and not (isinstance(kind, Scalar) and kind.value == "number"):
        context.error("bad-value", "'as' is 'number', or left out for a text", kind)
    value = None if default is None else json_value(context, default)
    if default is None or (isinstance(default, Scalar) and not kind):
        return value if default is None or value is None else default.value
    if not (kind and is_number(value)):
        wanted = "number, like 500 or 12.50" if kind else "text, like main"
        context.error("bad-value", f"the default is not a {wanted}", default)
    return value


def retries(context: LoadContext) -> dict[str, RetryPolicy]:
    """The built-in policies and those of `retries:`."""
    found = dict(BUILT_IN)
    for name, entry in context.file.retries or ():
        if name.value in BUILT_IN:
            context.error("built-in-name", f"the retry policy '{name.value}' is built in", name)
        found[shape(context, name, ID, "a retry policy")] = policy(context, entry, name.value)
    return found


def policy(context: LoadContext, entry: RetryEntry, name: str) -> RetryPolicy:
    """An inline or named policy."""
    if entry.name is not None:
        context.error("wrong-type", "expected a mapping with 'schedule', found a name", entry.name)
    schedule = tuple(entry.schedule or ())
    if len(schedule) > SCHEDULE_MAX:
        context.error(
            "bad-value", f"a schedule has at most {SCHEDULE_MAX} delays", entry.at("schedule")
        )
    return RetryPolicy(
        name, schedule, RetryPolicy("", ()).jitter if entry.jitter is None else entry.jitter
    )


def chosen_retry(
    context: LoadContext, entry: RetryEntry | None, policies: Mapping[str, RetryPolicy]
) -> RetryPolicy | None:
    """The policy that a `retry:` names or holds, or None if there is no `retry:`."""
    if entry is None:
        return None
    if entry.name is None:
        return policy(context, entry, "inline")
    if (found := policies.get(entry.name.value)) is None:
        context.unknown("unknown-retry", "retry policy", entry.name, policies)
    return found
