"""
The rules file as msgspec Structs: one class a mapping, one field a key, in the file's own words.
`server`, `providers` and `tests` have files of their own beside this one.

Defaults that the file does not say stand in router/model/settings.py; here an absent key is None.
"""

from typing import ClassVar, Literal

import msgspec

from router.config.provider_schema import ProviderEntry, VerifyEntry
from router.config.server_schema import ServerEntry, SettingEntry
from router.config.trial_schema import TrialEntry
from router.config.units import ApiVersion, Day, Duration, Fraction, Rate, Size
from router.yaml_source import Entry, Node, SourceText, Table


class SecretEntry(Entry):
    """One entry of `secrets`: where a value comes from, never the value."""

    called: ClassVar[str] = "this secret"
    env: SourceText | None = None
    file: SourceText | None = None
    credential: SourceText | None = None
    until: Day | None = None


class UrlEntry(Entry):
    """A target's `url`: a text, an environment variable, or a secret."""

    called: ClassVar[str] = "'url'"
    shorthand: ClassVar[str | None] = "text"
    text: SourceText | None = None
    env: SourceText | None = None
    default: SourceText | None = None
    secret: SourceText | None = None


class BasicEntry(Entry):
    """`auth: {basic: …}`: a user and the name of a secret."""

    called: ClassVar[str] = "'basic'"
    required: ClassVar[tuple[str, ...]] = ("user", "password")
    user: SourceText | None = None
    password: SourceText | None = None


class AuthEntry(Entry):
    """How a call proves who it is; every S names a secret."""

    called: ClassVar[str] = "'auth'"
    bearer: SourceText | None = None
    basic: BasicEntry | None = None
    header: Table[SourceText] | None = None


class KeyEntry(Entry):
    """The private key of a client certificate: a path, or a secret."""

    called: ClassVar[str] = "'key'"
    shorthand: ClassVar[str | None] = "path"
    path: SourceText | None = None
    secret: SourceText | None = None


class TlsEntry(Entry):
    """How a connection is secured beyond the system's own trust."""

    called: ClassVar[str] = "'tls'"
    ca: SourceText | None = None
    cert: SourceText | None = None
    key: KeyEntry | None = None


class SignEntry(Entry):
    """How calls are signed; every secret signs, the newest first."""

    called: ClassVar[str] = "'sign'"
    required: ClassVar[tuple[str, ...]] = ("secrets",)
    scheme: Literal["standard-webhooks"] | None = None
    secrets: list[SourceText] | None = None
    header: SourceText | None = None
    algorithm: Literal["sha256", "sha512"] | None = None
    encoding: Literal["hex", "base64"] | None = None
    prefix: SourceText | None = None


class TargetEntry(Entry):
    """One entry of `targets`: host, credentials and limits in one place."""

    called: ClassVar[str] = "this target"
    required: ClassVar[tuple[str, ...]] = ("url",)
    url: UrlEntry | None = None
    auth: AuthEntry | None = None
    headers: Table[SourceText] | None = None
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
    key: SourceText | None = None
    window: Duration | None = None


class AnswerEntry(Entry):
    """An endpoint's `answer`: what stands in place of the 200's JSON."""

    called: ClassVar[str] = "'answer'"
    status: int | None = None
    type: SourceText | None = None
    body: SourceText | None = None


class ApiEntry(Entry):
    """An endpoint's `api`: how its sender's own API is called."""

    called: ClassVar[str] = "'api'"
    base: SettingEntry | None = None
    token: SourceText | None = None
    graphql: bool | None = None
    graphql_path: SourceText | None = None


class EndpointEntry(Entry):
    """One entry of `endpoints`: a receiving address."""

    called: ClassVar[str] = "this endpoint"
    required: ClassVar[tuple[str, ...]] = ("provider",)
    id: SettingEntry | None = None
    paths: list[SettingEntry] | None = None
    provider: SourceText | None = None
    secrets: list[SourceText] | None = None
    verify: VerifyEntry | None = None
    dedupe: DedupeEntry | None = None
    body_max: Size | None = None
    allow_from: list[SourceText] | None = None
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
    test: SourceText | None = None
    negated: "ConditionEntry | None" = msgspec.field(default=None, name="not")
    any_of: "list[ConditionEntry] | None" = msgspec.field(default=None, name="any")


class HttpEntry(Entry):
    """An `http` action; a lone text is its url."""

    called: ClassVar[str] = "'http'"
    shorthand: ClassVar[str | None] = "short"
    short: SourceText | None = None
    target: SourceText | None = None
    url: SourceText | None = None
    method: SourceText | None = None
    path: SourceText | None = None
    query: Table[SourceText] | None = None
    headers: Table[SourceText] | None = None
    forward_headers: list[SourceText] | None = None
    json: Node | None = None
    form: Table[SourceText] | None = None
    text: SourceText | None = None
    body: SourceText | None = None
    accept: list[SourceText] | None = None
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
    argv: list[SourceText] | None = None
    script: SourceText | None = None
    interpreter: list[SourceText] | None = None
    stdin: Node | None = None
    env: Table[SourceText] | None = None
    pass_env: list[SourceText] | None = None
    cwd: SourceText | None = None
    timeout: Duration | None = None
    limits: ShellLimitsEntry | None = None
    user: SourceText | None = None
    files: Table[Node] | None = None


class PythonEntry(Entry):
    """A `python` action: a function of a plugin."""

    called: ClassVar[str] = "'python'"
    required: ClassVar[tuple[str, ...]] = ("call",)
    call: SourceText | None = None
    args: Table[Node] | None = None
    secrets: list[SourceText] | None = None
    timeout: Duration | None = None


class RepositoryDispatchEntry(Entry):
    """A `repository_dispatch` action: an event of one's own on the code host."""

    called: ClassVar[str] = "'repository_dispatch'"
    required: ClassVar[tuple[str, ...]] = ("repo", "event_type", "token")
    repo: SourceText | None = None
    event_type: SourceText | None = None
    client_payload: Node | None = None
    token: SourceText | None = None
    api_base: SourceText | None = None
    timeout: Duration | None = None


class RetryEntry(Entry):
    """A retry policy; a lone text is the name of one."""

    called: ClassVar[str] = "this retry policy"
    shorthand: ClassVar[str | None] = "name"
    required: ClassVar[tuple[str, ...]] = ("schedule",)
    name: SourceText | None = None
    schedule: list[Duration] | None = None
    jitter: Fraction | None = None


class ActionEntry(Entry):
    """One step of a rule: exactly one kind."""

    called: ClassVar[str] = "this action"
    id: SourceText | None = None
    http: HttpEntry | None = None
    shell: ShellEntry | None = None
    python: PythonEntry | None = None
    log: SourceText | None = None
    repository_dispatch: RepositoryDispatchEntry | None = None
    retry: RetryEntry | None = None
    on_interrupt: Literal["rerun", "dead"] | None = None
    use: SourceText | None = None
    given: Table[Node] | None = msgspec.field(default=None, name="with")
    after: Node | None = None
    when: SourceText | None = None


class SharedActionEntry(ActionEntry):
    """One entry of `actions`: a step that rules use by its name; `with` are its defaults."""

    called: ClassVar[str] = "this shared action"


class ConcurrencyEntry(Entry):
    """A rule's `concurrency`: runs that give `group` the same value take turns."""

    called: ClassVar[str] = "'concurrency'"
    required: ClassVar[tuple[str, ...]] = ("group",)
    group: SourceText | None = None
    limit: int | None = None
    on_busy: Literal["queue", "latest", "drop"] | None = None
    on_dead: Literal["continue", "halt"] | None = None


class RuleEntry(Entry):
    """One entry of `rules`."""

    called: ClassVar[str] = "this rule"
    required: ClassVar[tuple[str, ...]] = ("id", "from", "actions")
    id: SourceText | None = None
    about: SourceText | None = None
    mode: Literal["live", "shadow", "paused"] | None = None
    per: Literal["event", "delivery"] | None = None
    sources: list[SourceText] | None = msgspec.field(default=None, name="from")
    events: list[SourceText] | None = None
    match: list[ConditionEntry] | None = None
    otherwise: bool | None = None
    actions: list[ActionEntry] | None = None
    retry: RetryEntry | None = None
    concurrency: ConcurrencyEntry | None = None


class FileEntry(Entry):
    """The whole file."""

    called: ClassVar[str] = "the rules file"
    required: ClassVar[tuple[str, ...]] = ("version",)
    version: int | None = None
    include: list[SourceText] | None = None
    server: ServerEntry | None = None
    secrets: Table[SecretEntry] | None = None
    vars: Table[Node] | None = None
    targets: Table[TargetEntry] | None = None
    endpoints: Table[EndpointEntry] | None = None
    providers: Table[ProviderEntry] | None = None
    define: Table[SourceText] | None = None
    actions: Table[SharedActionEntry] | None = None
    rules: list[RuleEntry] | None = None
    retries: Table[RetryEntry] | None = None
    tests: list[TrialEntry] | None = None
