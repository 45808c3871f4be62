"""
The rules file as msgspec Structs: one class a mapping, one field a key, in the file's own words.
`server`, `providers`, `rules` and `tests` have files of their own beside this one.

Defaults that the file does not say stand in router/model/settings.py; here an absent key is None.
"""

from typing import Annotated, Literal

from router.config.provider_schema import ProviderEntry, VerifyEntry
from router.config.rule_schema import RetryEntry, RuleEntry, SharedActionEntry
from router.config.server_schema import KeepForEntry, ServerEntry, SettingEntry
from router.config.spelling import (
    ENDPOINT_ID,
    ENDPOINTS_TAKEN,
    HEADER,
    ID,
    NAME,
    PATH,
    URL,
    VARIABLE,
)
from router.config.trial_schema import TrialEntry
from router.config.units import ApiVersion, Day, Duration, Rate, RedactTime, Size
from router.model.retry import BUILT_IN
from router.yaml_source import (
    Entry,
    Node,
    SourceText,
    Table,
    doc,
    most,
    named,
    needs,
    one,
    some,
)


@named("'answer'", rules=(most("body", "json"),))
class AnswerEntry(Entry):
    """`answer` of an endpoint, made of the request; `otherwise` is one where that fails."""

    status: Annotated[
        SourceText | None,
        doc("200 (default) to 299; a template.", 202, pattern=r"2[0-9]{2}|.*\{\{.*"),
    ] = None
    type: Annotated[
        SourceText | None,
        doc("The media type; left out text/plain, of `json` application/json.", "text/xml"),
    ] = None
    headers: Annotated[
        Table[SourceText] | None,
        doc("Headers; templates.", {"X-Build": "{{ delivery.id }}"}, names=HEADER.pattern),
    ] = None
    body: Annotated[
        SourceText | None, doc("The body; a template.", "kept as {{ delivery.id }}")
    ] = None
    json: Annotated[
        Node | None,
        doc(
            "The body as JSON; texts are templates, a lone template keeps its type.",
            {"challenge": "{{ payload.challenge }}"},
        ),
    ] = None
    otherwise: Annotated[
        "AnswerEntry | None", doc("The answer where a template of this one fails.")
    ] = None


@named("this secret", hidden=True, rules=(one("env", "file", "credential"),))
class SecretEntry(Entry):
    """One entry of `secrets`: where a value comes from, never the value."""

    env: Annotated[
        SourceText | None,
        doc(
            "The environment variable that holds it.",
            "SHOP_WEBHOOK_SECRET",
            pattern=VARIABLE.pattern,
        ),
    ] = None
    file: Annotated[
        SourceText | None, doc("The file that holds it, relative to this one.", "keys/mail.pem")
    ] = None
    credential: Annotated[
        SourceText | None, doc("Its name in systemd's credentials directory.", "hub")
    ] = None
    until: Annotated[
        Day | None, doc("From 00:00 UTC of this day it verifies nothing.", "2026-12-01")
    ] = None


@named("'url'", shorthand="text", rules=(one("env", "secret"), needs("default", "env")))
class UrlEntry(SettingEntry):
    """A target's `url`: a text, an environment variable, or a secret."""

    secret: Annotated[
        SourceText | None,
        doc("The secret that holds the whole address: masked everywhere.", "chat_url"),
    ] = None


@named("'basic'", required=("user", "password"))
class BasicEntry(Entry):
    """`auth: {basic: …}`: a user and the name of a secret."""

    user: Annotated[SourceText | None, doc("The user.", "router")] = None
    password: Annotated[SourceText | None, doc("The secret that is the password.", "erp")] = None


@named("'auth'", rules=(one("bearer", "basic", "header"),))
class AuthEntry(Entry):
    """How a call proves who it is; every S names a secret."""

    bearer: Annotated[
        SourceText | None, doc("The secret sent as `Authorization: Bearer`.", "erp")
    ] = None
    basic: Annotated[BasicEntry | None, doc("User, and the secret that is the password.")] = None
    header: Annotated[
        Table[SourceText] | None,
        doc(
            "One header's name, and the secret it holds.",
            {"X-Api-Key": "erp"},
            names=HEADER.pattern,
            min_length=1,
            max_length=1,
        ),
    ] = None


@named("'key'", shorthand="path", rules=(one("secret"),))
class KeyEntry(Entry):
    """The private key of a client certificate: a path, or a secret."""

    path: Annotated[SourceText | None, doc("The file.")] = None
    secret: Annotated[SourceText | None, doc("The secret that holds the key.", "client_key")] = None


@named("'tls'", rules=(some("ca", "cert"), needs("key", "cert")))
class TlsEntry(Entry):
    """How a connection is secured beyond the system's own trust."""

    ca: Annotated[
        SourceText | None,
        doc("A file of certificates to trust instead of the system's.", "tls/ca.pem"),
    ] = None
    cert: Annotated[
        SourceText | None, doc("A file with the client certificate.", "tls/client.pem")
    ] = None
    key: Annotated[
        KeyEntry | None, doc("The client certificate's private key: a file, or {secret: NAME}.")
    ] = None


@named(
    "'sign'",
    required=("secrets",),
    rules=(
        one("scheme", "header"),
        *(needs(key, "header") for key in ("algorithm", "encoding", "prefix")),
    ),
)
class SignEntry(Entry):
    """How calls are signed; every secret signs, the newest first."""

    scheme: Annotated[
        Literal["standard-webhooks"] | None,
        doc("How the signature is made; only standard-webhooks needs no other key."),
    ] = None
    secrets: Annotated[
        list[SourceText] | None,
        doc("The secrets that sign, the newest first.", ["signing", "signing_old"], min_length=1),
    ] = None
    header: Annotated[
        SourceText | None,
        doc("The header that carries the signature.", "X-Signature", pattern=HEADER.pattern),
    ] = None
    algorithm: Annotated[
        Literal["sha256", "sha512"] | None,
        doc("The hash. Default sha256."),
    ] = None
    encoding: Annotated[
        Literal["hex", "base64"] | None, doc("How the signature is written. Default hex.")
    ] = None
    prefix: Annotated[SourceText | None, doc("What stands before it.", "sha256=")] = None


@named("this target", required=("url",))
class TargetEntry(Entry):
    """One entry of `targets`: host, credentials and limits in one place."""

    url: Annotated[
        UrlEntry | None,
        doc("The address: a text, {env: NAME}, or {secret: NAME}.", pattern=URL.pattern),
    ] = None
    auth: Annotated[AuthEntry | None, doc("How every call proves who it is.")] = None
    headers: Annotated[
        Table[SourceText] | None,
        doc("Headers of every call; templates.", {"X-Source": "router"}, names=HEADER.pattern),
    ] = None
    rate: Annotated[
        Rate | None, doc("Calls begun in a second, minute or hour. Default: no limit.")
    ] = None
    concurrency: Annotated[int | None, doc("Calls at once. Default 16.", gt=0)] = None
    timeout: Annotated[Duration | None, doc("For one call. Default 30s.", gt=0)] = None
    tls: Annotated[TlsEntry | None, doc("Trust and client certificate of every call.")] = None
    sign: Annotated[SignEntry | None, doc("Sign every call.")] = None
    breaker: Annotated[
        Literal["on", "off"] | None, doc("off: called however often it fails. Default on.")
    ] = None


@named("'dedupe'", shorthand="mode")
class DedupeEntry(Entry):
    """An endpoint's `dedupe`: off, body, or a mapping with key and window."""

    mode: Annotated[
        Literal["off", "body", "id"] | None,
        doc("What makes two deliveries the same: id (default), body, or off."),
    ] = None
    key: Annotated[SourceText | None, doc("An expression whose value does.", "payload.id")] = None
    window: Annotated[Duration | None, doc("How long a copy is recognised. Default 7d.", gt=0)] = (
        None
    )


@named("'redact'", shorthand="short", several=True, required=("fields",))
class RedactEntry(Entry):
    """An endpoint's `redact`: a list of fields, or a mapping that also says when."""

    short: Annotated[
        list[SourceText] | None,
        doc("The fields alone; they go when nothing is open.", ["payload.customer.email"]),
    ] = None
    fields: Annotated[
        list[SourceText] | None,
        doc(
            "The values to take out, as paths of payload, headers or query.",
            ["payload.customer.email", 'headers."x-user"', "payload.items[].name"],
            min_length=1,
        ),
    ] = None
    when: Annotated[
        RedactTime | None,
        doc(
            "stored: never written; done (default): as soon as no job is open; or so long after.",
            "30d",
        ),
    ] = None

    @property
    def named_fields(self) -> list[SourceText]:
        """The fields, whichever way they are written."""
        return self.short or self.fields or []


@named("'api'")
class ApiEntry(Entry):
    """An endpoint's `api`: how its sender's own API is called."""

    base: Annotated[SettingEntry | None, doc("The address of the sender's own API.")] = None
    token: Annotated[SourceText | None, doc("The secret that opens it.", "hub_token")] = None
    app: Annotated[
        SettingEntry | None, doc("The app's id; the secret is then its private key.", "123456")
    ] = None
    graphql: Annotated[bool | None, doc("Whether its GraphQL interface is used.")] = None
    graphql_path: Annotated[SourceText | None, doc("Where that is.", "/graphql")] = None


@named("'recover'")
class RecoverEntry(Entry):
    """An endpoint's `recover`: what its sender could not deliver is asked for again."""

    every: Annotated[Duration | None, doc("How often, one minute or longer.")] = None
    hook: Annotated[
        SettingEntry | None,
        doc("The webhook at the sender, as its API names it.", "repos/OWNER/REPO/hooks"),
    ] = None


@named(
    "this endpoint",
    required=("provider",),
    rules=(some("id", "paths"), most("verify", "secrets", value="none")),
)
class EndpointEntry(Entry):
    """One entry of `endpoints`: a receiving address."""

    id: Annotated[
        SettingEntry | None,
        doc(
            "16 to 128 of A-Z a-z 0-9 _ -; served at {base_url}/wh_ID.",
            "8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54",
            pattern=ENDPOINT_ID.pattern,
        ),
    ] = None
    paths: Annotated[
        list[SettingEntry] | None,
        doc(
            "Other paths it is served at.",
            ["/webhooks/shop"],
            pattern=PATH.pattern,
            min_length=1,
        ),
    ] = None
    public_url: Annotated[
        SettingEntry | None,
        doc(
            "What the sender was told, if not {base_url} and the path: signed by some.",
            "https://hooks.example.com/shop",
            pattern=URL.pattern,
        ),
    ] = None
    provider: Annotated[
        SourceText | None, doc("Who sends: a built-in provider, or one of `providers`.", "shopify")
    ] = None
    secrets: Annotated[
        list[SourceText] | None, doc("What verifies; all of them are tried.", ["shop", "shop_old"])
    ] = None
    verify: Annotated[VerifyEntry | None, doc("none: accept everybody.")] = None
    dedupe: Annotated[
        DedupeEntry | None,
        doc("How copies are recognised: off, body, {key: EXPR}, {window: 14d}."),
    ] = None
    body_max: Annotated[
        Size | None, doc("The largest body. Default the provider's, signed or not.", gt=0)
    ] = None
    allow_from: Annotated[
        list[SourceText] | None, doc("Address ranges that may send.", "provider", ["10.20.0.0/16"])
    ] = None
    tolerance: Annotated[
        Duration | None, doc("How old a signed time stamp may be. Default the provider's.", gt=0)
    ] = None
    methods: Annotated[
        list[SourceText] | None,
        doc("HTTP methods, where no proof is over a body. Default the provider's.", ["GET", "PUT"]),
    ] = None
    replay_guard: Annotated[bool | None, doc("Also know each event by its name and body.")] = None
    on_redelivery: Annotated[
        Literal["ignore", "revive"] | None,
        doc("What a copy of a delivery does to its dead jobs. Default ignore."),
    ] = None
    answer: Annotated[AnswerEntry | None, doc("What stands in place of the 200's JSON.")] = None
    api: Annotated[ApiEntry | None, doc("How the sender's own API is called.")] = None
    api_version: Annotated[
        ApiVersion | None, doc("The version of the sender's API that payloads are expected in.")
    ] = None
    expect_every: Annotated[
        Duration | None,
        doc("Warn when nothing has come for this long.", gt=0),
    ] = None
    recover: Annotated[
        RecoverEntry | None, doc("Ask the sender for what it could not deliver.")
    ] = None
    redact: Annotated[
        RedactEntry | None,
        doc("Values that are taken out of what is stored.", ["payload.customer.email"]),
    ] = None
    retention: Annotated[
        KeepForEntry | None,
        doc("How long its ended work is kept, where not as server.retention.", {"succeeded": "1h"}),
    ] = None


@named("the rules file", required=("version",))
class FileEntry(Entry):
    """The whole file."""

    version: Annotated[int | None, doc("Always 1.", 1, ge=1, le=1)] = None
    include: Annotated[
        list[SourceText] | None,
        doc("Further files, as paths or patterns relative to this one.", ["rules/*.yaml"]),
    ] = None
    server: Annotated[
        ServerEntry | None,
        doc("Addresses, store and limits; all optional."),
    ] = None
    secrets: Annotated[
        Table[SecretEntry] | None,
        doc(
            "Where secret values come from; never the values.",
            {"shop": {"env": "SHOP_WEBHOOK_SECRET"}},
            names=NAME.pattern,
        ),
    ] = None
    vars: Annotated[
        Table[Node] | None,
        doc(
            "Your own values, read as var.NAME.",
            {"main": {"env": "DEPLOY_BRANCH", "default": "main"}},
            names=NAME.pattern,
        ),
    ] = None
    targets: Annotated[
        Table[TargetEntry] | None,
        doc(
            "Places that http actions call: address, credentials, limits.",
            {"erp": {"url": "https://erp.example.net", "rate": "5/s"}},
            names=ID.pattern,
        ),
    ] = None
    endpoints: Annotated[
        Table[EndpointEntry] | None,
        doc(
            "Addresses that receive.",
            {"shop": {"paths": ["/shop"], "provider": "shopify", "secrets": "shop"}},
            names=ID.pattern,
            taken=ENDPOINTS_TAKEN,
        ),
    ] = None
    providers: Annotated[
        Table[ProviderEntry] | None,
        doc(
            "Senders of your own, beside the built-in ones.",
            {"desk": {"verify": {"scheme": "hmac", "header": "X-Desk-Signature"}}},
            names=ID.pattern,
        ),
    ] = None
    define: Annotated[
        Table[SourceText] | None,
        doc(
            "Named expressions, read as def.NAME; evaluated at most once an event.",
            {"total": "decimal(payload.total_price)"},
            names=NAME.pattern,
        ),
    ] = None
    actions: Annotated[
        Table[SharedActionEntry] | None,
        doc(
            "Steps that several rules use by name.",
            {"tell_desk": {"log": "{{ with.text }}"}},
            names=NAME.pattern,
        ),
    ] = None
    rules: Annotated[list[RuleEntry] | None, doc("Conditions and actions, in order.")] = None
    retries: Annotated[
        Table[RetryEntry] | None,
        doc(
            "Named retry policies beside standard, short and none.",
            {"gentle": {"schedule": ["1m", "10m", "1h"]}},
            names=ID.pattern,
            taken=BUILT_IN,
        ),
    ] = None
    tests: Annotated[
        list[TrialEntry] | None, doc("What must come of which delivery, for `router test`.")
    ] = None
