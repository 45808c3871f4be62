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
from router.yaml_source import Entry, Node, Table, Text


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
