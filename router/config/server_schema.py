"""`server` as Structs, and the setting that is a text or an environment variable."""

from typing import ClassVar, Literal

from router.config.units import Duration, Size
from router.yaml_source import Entry, SourceText, Table


class SettingEntry(Entry):
    """A text, or the environment variable that holds it."""

    called: ClassVar[str] = "this setting"
    shorthand: ClassVar[str | None] = "text"
    text: SourceText | None = None
    env: SourceText | None = None
    default: SourceText | None = None


class DoorTlsEntry(Entry):
    """`server.tls` and `server.admin.tls`: the certificate of a door."""

    called: ClassVar[str] = "'tls'"
    required: ClassVar[tuple[str, ...]] = ("cert",)
    cert: SourceText | None = None
    key: SourceText | None = None


class AdminTokenEntry(Entry):
    """One entry of `server.admin.tokens`: who else may call, and what they may do."""

    called: ClassVar[str] = "this token"
    required: ClassVar[tuple[str, ...]] = ("secret",)
    secret: SourceText | None = None
    role: Literal["viewer", "operator"] | None = None
    bodies: bool | None = None


class AdminEntry(SettingEntry):
    """`server.admin`: an address, or a mapping with `listen`."""

    called: ClassVar[str] = "'admin'"
    listen: SourceText | None = None
    tokens: Table[AdminTokenEntry] | None = None
    hosts: list[SourceText] | None = None
    tls: DoorTlsEntry | None = None


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
    allow: list[SourceText] | None = None


class RefusalsEntry(Entry):
    """`server.refusals`: what is kept of requests that were refused."""

    called: ClassVar[str] = "'refusals'"
    bodies: bool | None = None


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
    trusted_proxies: list[SourceText] | None = None
    egress: EgressEntry | None = None
    retention: RetentionEntry | None = None
    limits: LimitsEntry | None = None
    grace: Duration | None = None
    refusals: RefusalsEntry | None = None
    tls: DoorTlsEntry | None = None
    reload: ReloadEntry | None = None
