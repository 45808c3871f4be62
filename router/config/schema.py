"""
The rules file as msgspec Structs: one class a mapping, one field a key, in the file's own words.

Defaults that the file does not say stand in router/model/settings.py; here an absent key is None.
"""

from typing import ClassVar, Literal, NewType

import msgspec

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
Moment = NewType("Moment", int)
"""Unix milliseconds; written as 2026-12-01 or 2026-12-01T08:30:00Z."""


class SettingEntry(Entry):
    """A text, or the environment variable that holds it."""

    called: ClassVar[str] = "this setting"
    shorthand: ClassVar[str | None] = "text"
    text: Text | None = None
    env: Text | None = None
    default: Text | None = None


class AdminEntry(SettingEntry):
    """`server.admin`: an address, or a mapping with `listen`."""

    called: ClassVar[str] = "'admin'"
    listen: Text | None = None


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


class EndpointEntry(Entry):
    """One entry of `endpoints`: a receiving address."""

    called: ClassVar[str] = "this endpoint"
    required: ClassVar[tuple[str, ...]] = ("provider",)
    id: SettingEntry | None = None
    paths: list[SettingEntry] | None = None
    provider: Text | None = None
    secrets: list[Text] | None = None
    verify: Literal["none"] | None = None
    dedupe: DedupeEntry | None = None
    body_max: Size | None = None
    allow_from: list[Text] | None = None
    tolerance: Duration | None = None
    replay_guard: bool | None = None
    on_redelivery: Literal["ignore", "revive"] | None = None
    answer: AnswerEntry | None = None


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


class PythonEntry(Entry):
    """A `python` action: a function of a plugin."""

    called: ClassVar[str] = "'python'"
    required: ClassVar[tuple[str, ...]] = ("call",)
    call: Text | None = None
    args: Table[Node] | None = None
    secrets: list[Text] | None = None
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
    retry: RetryEntry | None = None
    on_interrupt: Literal["rerun", "dead"] | None = None


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


class SendEntry(Entry):
    """One step of a test's `send`: deliveries of one event."""

    called: ClassVar[str] = "'send'"
    required: ClassVar[tuple[str, ...]] = ("endpoint", "event")
    endpoint: Text | None = None
    event: Text | None = None
    set: Table[Node] | None = None
    payload: Node | None = None
    tamper: Literal["signature", "body"] | None = None
    redeliver: bool | None = None
    repeat: int | None = None


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
    calls: Table[CallEntry] | None = None
    dead: list[Text] | None = None


class TrialEntry(Entry):
    """One entry of `tests`."""

    called: ClassVar[str] = "this test"
    required: ClassVar[tuple[str, ...]] = ("name", "send", "expect")
    name: Text | None = None
    send: list[SendEntry] | None = None
    replies: Table[list[ReplyEntry]] | None = None
    clock: Moment | None = None
    expect: ExpectEntry | None = None


class FileEntry(Entry):
    """The whole file."""

    called: ClassVar[str] = "the rules file"
    required: ClassVar[tuple[str, ...]] = ("version",)
    version: int | None = None
    server: ServerEntry | None = None
    secrets: Table[SecretEntry] | None = None
    vars: Table[Node] | None = None
    targets: Table[TargetEntry] | None = None
    endpoints: Table[EndpointEntry] | None = None
    define: Table[Text] | None = None
    rules: list[RuleEntry] | None = None
    retries: Table[RetryEntry] | None = None
    tests: list[TrialEntry] | None = None
