"""
The rules file as msgspec Structs: one class a mapping, one field a key, in the file's own words.

Defaults that the file does not say stand in router/model/settings.py; here an absent key is None.
"""

from typing import ClassVar, Literal, NewType

import msgspec

from router.config.provider_schema import ProviderEntry, VerifyEntry
from router.yaml_source import Entry, Node, Table, Text

Duration = NewType("Duration", int)
"""Milliseconds; written as a whole number with ms, s, m, h or d."""
Size = NewType("Size", int)
"""Bytes; written as a whole number with KiB, MiB or GiB."""
Rate = NewType("Rate", float)
"""Calls a second; written as 5/s, 300/m or 1000/h."""
Day = NewType("Day", int)
"""Unix milliseconds of 00:00 UTC; written as 2026-12-01."""
Fraction = NewType("Fraction", float)
"""A number from 0 to 1."""
ApiVersion = NewType("ApiVersion", str)
"""A version of a sender's API; written as 2024-01."""
Moment = NewType("Moment", int)
"""Unix milliseconds; written as 2026-12-01 or 2026-12-01T08:30:00Z."""


class SettingEntry(Entry):
    """A text, or the environment variable that holds it."""

    called: ClassVar[str] = "this setting"
    shorthand: ClassVar[str | None] = "text"
    text: Text | None = None
    env: Text | None = None
    default: Text | None = None


class AdminTokenEntry(Entry):
    """One entry of `server.admin.tokens`: who else may call, and what they may do."""

    called: ClassVar[str] = "this token"
    required: ClassVar[tuple[str, ...]] = ("secret",)
    secret: Text | None = None
    role: Literal["viewer", "operator"] | None = None
    bodies: bool | None = None


class AdminEntry(SettingEntry):
    """`server.admin`: an address, or a mapping with `listen`."""

    called: ClassVar[str] = "'admin'"
    listen: Text | None = None
    tokens: Table[AdminTokenEntry] | None = None
    hosts: list[Text] | None = None


class LimitsEntry(Entry):
    """`server.limits`: what the public door bears."""

    called: ClassVar[str] = "'limits'"
    headers: int | None = None
    header_bytes: Size | None = None
    uri_bytes: Size | None = None
    header_timeout: Duration | None = None
    body_idle: Duration | None = None
    body_total: Duration | None = None
    keep_alive: Duration | None = None
    answer: Duration | None = None
    in_flight: Size | None = None
    in_flight_wait: Duration | None = None
    connections: int | None = None


class RetentionEntry(Entry):
    """`server.retention`: how long ended work is kept."""

    called: ClassVar[str] = "'retention'"
    succeeded: Duration | None = None
    unmatched: Duration | None = None
    dead: Duration | None = None
    max_size: Size | None = None


class EgressEntry(Entry):
    """`server.egress`: private ranges that host names may resolve to."""

    called: ClassVar[str] = "'egress'"
    allow: list[Text] | None = None


class RefusalsEntry(Entry):
    """`server.refusals`: what is kept of requests that were refused."""

    called: ClassVar[str] = "'refusals'"
    bodies: bool | None = None


class DoorTlsEntry(Entry):
    """`server.tls`: the certificate of the public door."""

    called: ClassVar[str] = "'tls'"
    required: ClassVar[tuple[str, ...]] = ("cert",)
    cert: Text | None = None
    key: Text | None = None


class ReloadEntry(Entry):
    """`server.reload`: when the rules file is read again, and what must hold for it."""

    called: ClassVar[str] = "'reload'"
    watch: bool | None = None
    require_tests: bool | None = None


class ServerEntry(Entry):
    """`server`: all optional; flags and ROUTER_* variables override."""

    called: ClassVar[str] = "'server'"
    base_url: SettingEntry | None = None
    listen: SettingEntry | None = None
    admin: AdminEntry | None = None
    store: SettingEntry | None = None
    trusted_proxies: list[Text] | None = None
    egress: EgressEntry | None = None
    retention: RetentionEntry | None = None
    limits: LimitsEntry | None = None
    grace: Duration | None = None
    refusals: RefusalsEntry | None = None
    tls: DoorTlsEntry | None = None
    reload: ReloadEntry | None = None


class SecretEntry(Entry):
    """One entry of `secrets`: where a value comes from, never the value."""

    called: ClassVar[str] = "this secret"
    env: Text | None = None
    file: Text | None = None
    credential: Text | None = None
    until: Day | None = None


class UrlEntry(Entry):
    """A target's `url`: a text, an environment variable, or a secret."""

    called: ClassVar[str] = "'url'"
    shorthand: ClassVar[str | None] = "text"
    text: Text | None = None
    env: Text | None = None
    default: Text | None = None
    secret: Text | None = None


class BasicEntry(Entry):
    """`auth: {basic: …}`: a user and the name of a secret."""

    called: ClassVar[str] = "'basic'"
    required: ClassVar[tuple[str, ...]] = ("user", "password")
    user: Text | None = None
    password: Text | None = None


class AuthEntry(Entry):
    """How a call proves who it is; every S names a secret."""

    called: ClassVar[str] = "'auth'"
    bearer: Text | None = None
    basic: BasicEntry | None = None
    header: Table[Text] | None = None


class KeyEntry(Entry):
    """The private key of a client certificate: a path, or a secret."""

    called: ClassVar[str] = "'key'"
    shorthand: ClassVar[str | None] = "path"
    path: Text | None = None
    secret: Text | None = None


class TlsEntry(Entry):
    """How a connection is secured beyond the system's own trust."""

    called: ClassVar[str] = "'tls'"
    ca: Text | None = None
    cert: Text | None = None
    key: KeyEntry | None = None


class SignEntry(Entry):
    """How calls are signed; every secret signs, the newest first."""

    called: ClassVar[str] = "'sign'"
    required: ClassVar[tuple[str, ...]] = ("secrets",)
    scheme: Literal["standard-webhooks"] | None = None
    secrets: list[Text] | None = None
    header: Text | None = None
    algorithm: Literal["sha256", "sha512"] | None = None
    encoding: Literal["hex", "base64"] | None = None
    prefix: Text | None = None


class TargetEntry(Entry):
    """One entry of `targets`: host, credentials and limits in one place."""

    called: ClassVar[str] = "this target"
    required: ClassVar[tuple[str, ...]] = ("url",)
    url: UrlEntry | None = None
    auth: AuthEntry | None = None
    headers: Table[Text] | None = None
    rate: Rate | None = None
    concurrency: int | None = None
    timeout: Duration | None = None
    tls: TlsEntry | None = None
    sign: SignEntry | None = None
    breaker: Literal["on", "off"] | None = None


class DedupeEntry(Entry):
    """An endpoint's `dedupe`: off, body, or a mapping with key and window."""

    called: ClassVar[str] = "'dedupe'"
    shorthand: ClassVar[str | None] = "mode"
    mode: Literal["off", "body", "id"] | None = None
    key: Text | None = None
    window: Duration | None = None


class AnswerEntry(Entry):
    """An endpoint's `answer`: what stands in place of the 200's JSON."""

    called: ClassVar[str] = "'answer'"
    status: int | None = None
    type: Text | None = None
    body: Text | None = None


class ApiEntry(Entry):
    """An endpoint's `api`: how its sender's own API is called."""

    called: ClassVar[str] = "'api'"
    base: SettingEntry | None = None
    token: Text | None = None
    graphql: bool | None = None
    graphql_path: Text | None = None


class EndpointEntry(Entry):
    """One entry of `endpoints`: a receiving address."""

    called: ClassVar[str] = "this endpoint"
    required: ClassVar[tuple[str, ...]] = ("provider",)
    id: SettingEntry | None = None
    paths: list[SettingEntry] | None = None
    provider: Text | None = None
    secrets: list[Text] | None = None
    verify: VerifyEntry | None = None
    dedupe: DedupeEntry | None = None
    body_max: Size | None = None
    allow_from: list[Text] | None = None
    tolerance: Duration | None = None
    replay_guard: bool | None = None
    on_redelivery: Literal["ignore", "revive"] | None = None
    answer: AnswerEntry | None = None
    api: ApiEntry | None = None
    api_version: ApiVersion | None = None
    expect_every: Duration | None = None


class ConditionEntry(Entry):
    """One item of `match`: an expression, or `not` one, or `any` of several."""

    called: ClassVar[str] = "this condition"
    shorthand: ClassVar[str | None] = "test"
    test: Text | None = None
    negated: "ConditionEntry | None" = msgspec.field(default=None, name="not")
    any_of: "list[ConditionEntry] | None" = msgspec.field(default=None, name="any")


class HttpEntry(Entry):
    """An `http` action; a lone text is its url."""

    called: ClassVar[str] = "'http'"
    shorthand: ClassVar[str | None] = "short"
    short: Text | None = None
    target: Text | None = None
    url: Text | None = None
    method: Text | None = None
    path: Text | None = None
    query: Table[Text] | None = None
    headers: Table[Text] | None = None
    forward_headers: list[Text] | None = None
    json: Node | None = None
    form: Table[Text] | None = None
    text: Text | None = None
    body: Text | None = None
    accept: list[Text] | None = None
    timeout: Duration | None = None
    auth: AuthEntry | None = None
    tls: TlsEntry | None = None
    sign: SignEntry | None = None


class ShellLimitsEntry(Entry):
    """What each process of a command may use."""

    called: ClassVar[str] = "'limits'"
    cpu: Duration | None = None
    memory: Size | None = None
    files: int | None = None


class ShellEntry(Entry):
    """A `shell` action: `argv` or `script`."""

    called: ClassVar[str] = "'shell'"
    argv: list[Text] | None = None
    script: Text | None = None
    interpreter: list[Text] | None = None
    stdin: Node | None = None
    env: Table[Text] | None = None
    pass_env: list[Text] | None = None
    cwd: Text | None = None
    timeout: Duration | None = None
    limits: ShellLimitsEntry | None = None
    user: Text | None = None
    files: Table[Node] | None = None


class PythonEntry(Entry):
    """A `python` action: a function of a plugin."""

    called: ClassVar[str] = "'python'"
    required: ClassVar[tuple[str, ...]] = ("call",)
    call: Text | None = None
    args: Table[Node] | None = None
    secrets: list[Text] | None = None
    timeout: Duration | None = None


class RepositoryDispatchEntry(Entry):
    """A `repository_dispatch` action: an event of one's own on the code host."""

    called: ClassVar[str] = "'repository_dispatch'"
    required: ClassVar[tuple[str, ...]] = ("repo", "event_type", "token")
    repo: Text | None = None
    event_type: Text | None = None
    client_payload: Node | None = None
    token: Text | None = None
    api_base: Text | None = None
    timeout: Duration | None = None


class RetryEntry(Entry):
    """A retry policy; a lone text is the name of one."""

    called: ClassVar[str] = "this retry policy"
    shorthand: ClassVar[str | None] = "name"
    required: ClassVar[tuple[str, ...]] = ("schedule",)
    name: Text | None = None
    schedule: list[Duration] | None = None
    jitter: Fraction | None = None


class ActionEntry(Entry):
    """One step of a rule: exactly one kind."""

    called: ClassVar[str] = "this action"
    id: Text | None = None
    http: HttpEntry | None = None
    shell: ShellEntry | None = None
    python: PythonEntry | None = None
    log: Text | None = None
    repository_dispatch: RepositoryDispatchEntry | None = None
    retry: RetryEntry | None = None
    on_interrupt: Literal["rerun", "dead"] | None = None
    use: Text | None = None
    given: Table[Node] | None = msgspec.field(default=None, name="with")
    after: Node | None = None
    when: Text | None = None


class SharedActionEntry(ActionEntry):
    """One entry of `actions`: a step that rules use by its name; `with` are its defaults."""

    called: ClassVar[str] = "this shared action"


class ConcurrencyEntry(Entry):
    """A rule's `concurrency`: runs that give `group` the same value take turns."""

    called: ClassVar[str] = "'concurrency'"
    required: ClassVar[tuple[str, ...]] = ("group",)
    group: Text | None = None
    limit: int | None = None
    on_busy: Literal["queue", "latest", "drop"] | None = None
    on_dead: Literal["continue", "halt"] | None = None


class RuleEntry(Entry):
    """One entry of `rules`."""

    called: ClassVar[str] = "this rule"
    required: ClassVar[tuple[str, ...]] = ("id", "from", "actions")
    id: Text | None = None
    about: Text | None = None
    mode: Literal["live", "shadow", "paused"] | None = None
    per: Literal["event", "delivery"] | None = None
    sources: list[Text] | None = msgspec.field(default=None, name="from")
    events: list[Text] | None = None
    match: list[ConditionEntry] | None = None
    otherwise: bool | None = None
    actions: list[ActionEntry] | None = None
    retry: RetryEntry | None = None
    concurrency: ConcurrencyEntry | None = None


class SendEntry(Entry):
    """One step of a test's `send`: deliveries of one event, the last one again, or time."""

    called: ClassVar[str] = "'send'"
    endpoint: Text | None = None
    event: Text | None = None
    set: Table[Node] | None = None
    payload: Node | None = None
    headers: Table[Node] | None = None
    tamper: Literal["signature", "body"] | None = None
    redeliver: bool | None = None
    repeat: int | None = None
    every: Duration | None = None
    again: bool | None = None
    advance: Duration | None = None


class ReplyEntry(Entry):
    """One of a test's `replies`; a lone number is a status or an exit code."""

    called: ClassVar[str] = "this reply"
    shorthand: ClassVar[str | None] = "code"
    code: int | None = None
    status: int | None = None
    exit: int | None = None
    error: Literal["network", "timeout"] | None = None
    raises: Literal["Retry", "Fail"] | None = None
    after: Duration | None = None


class CallEntry(Entry):
    """One of a test's expected `calls`."""

    called: ClassVar[str] = "this call"
    times: int | None = None
    method: Text | None = None
    url: Text | None = None
    headers: Table[Text] | None = None
    json: Node | None = None
    argv: list[Text] | None = None
    env: Table[Text] | None = None
    stdin: Text | None = None
    args: Node | None = None
    message: Text | None = None


class ExpectEntry(Entry):
    """What a test expects; what is left out is not judged."""

    called: ClassVar[str] = "'expect'"
    status: list[int] | None = None
    matched: list[Text] | None = None
    shadow: list[Text] | None = None
    because: Table[Text] | None = None
    calls: Table[CallEntry] | None = None
    dead: list[Text] | None = None
    cancelled: list[Text] | None = None


class TrialEntry(Entry):
    """One entry of `tests`."""

    called: ClassVar[str] = "this test"
    required: ClassVar[tuple[str, ...]] = ("name", "send", "expect")
    name: Text | None = None
    send: list[SendEntry] | None = None
    replies: Table[list[ReplyEntry]] | None = None
    clock: Moment | None = None
    real: bool | None = None
    expect: ExpectEntry | None = None


class TestsEntry(Entry):
    """A file of tests beside a rules file."""

    called: ClassVar[str] = "a file of tests"
    required: ClassVar[tuple[str, ...]] = ("version", "tests")
    version: int | None = None
    tests: list[TrialEntry] | None = None


class FileEntry(Entry):
    """The whole file."""

    called: ClassVar[str] = "the rules file"
    required: ClassVar[tuple[str, ...]] = ("version",)
    version: int | None = None
    include: list[Text] | None = None
    server: ServerEntry | None = None
    secrets: Table[SecretEntry] | None = None
    vars: Table[Node] | None = None
    targets: Table[TargetEntry] | None = None
    endpoints: Table[EndpointEntry] | None = None
    providers: Table[ProviderEntry] | None = None
    define: Table[Text] | None = None
    actions: Table[SharedActionEntry] | None = None
    rules: list[RuleEntry] | None = None
    retries: Table[RetryEntry] | None = None
    tests: list[TrialEntry] | None = None
