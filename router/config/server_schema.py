"""`server` as Structs, and the setting that is a text or an environment variable."""

from typing import Annotated

from router.config.spelling import ADDRESS, RANGE, STORE, TOKEN, TOKENS_TAKEN, VARIABLE
from router.config.units import Duration, Size
from router.model.settings import AdminRole
from router.yaml_source import Entry, SourceText, Table, doc, named, needs, one, some


@named("this setting", shorthand="text", rules=(some("env"),))
class SettingEntry(Entry):
    """A text, or the environment variable that holds it."""

    text: Annotated[SourceText | None, doc("The value itself.")] = None
    env: Annotated[
        SourceText | None,
        doc(
            "The environment variable that holds the value.",
            "SHOP_ENDPOINT_ID",
            pattern=VARIABLE.pattern,
        ),
    ] = None
    default: Annotated[
        SourceText | None,
        doc(
            "The value when the variable is not set; without one that is an error.",
            "https://erp.example.net",
        ),
    ] = None


@named("'tls'", required=("cert",))
class ListenerTlsEntry(Entry):
    """`server.tls` and `server.admin.tls`: the certificate of a listener."""

    cert: Annotated[
        SourceText | None,
        doc("A PEM file: the certificate and those it is signed by.", "tls/fullchain.pem"),
    ] = None
    key: Annotated[
        SourceText | None,
        doc("A PEM file: its key. Left out: in the same file.", "tls/privkey.pem"),
    ] = None


@named("this token", required=("secret",))
class AdminTokenEntry(Entry):
    """One entry of `server.admin.tokens`: who else may call, and what they may do."""

    secret: Annotated[SourceText | None, doc("The secret that is the token.", "ann_token")] = None
    role: Annotated[
        AdminRole | None,
        doc(
            "viewer: asks (default); operator: also changes; admin: also makes and revokes tokens."
        ),
    ] = None
    bodies: Annotated[
        bool | None, doc("false: payloads, header values and rendered calls are hidden.")
    ] = None


@named("'admin'", rules=(needs("default", "env"),))
class AdminEntry(SettingEntry):
    """`server.admin`: an address, or a mapping with `listen`."""

    listen: Annotated[
        SourceText | None,
        doc("HOST:PORT of the admin listener.", "127.0.0.1:8001", pattern=ADDRESS.pattern),
    ] = None
    tokens: Annotated[
        Table[AdminTokenEntry] | None,
        doc(
            "Who may call, beside the token in the file beside the store.",
            {"ann": {"secret": "ann_token", "role": "operator"}},
            names=TOKEN.pattern,
            taken=TOKENS_TAKEN,
        ),
    ] = None
    hosts: Annotated[
        list[SourceText] | None,
        doc("Names it is called by, beside its address.", ["admin.example.com"]),
    ] = None
    tls: Annotated[ListenerTlsEntry | None, doc("Its certificate. Default: none, plain HTTP.")] = (
        None
    )


@named("'store'", rules=(one("url", "env"),))
class StoreEntry(SettingEntry):
    """`server.store`: a file, or a mapping with the `url` of a PostgreSQL database."""

    url: Annotated[
        SettingEntry | None,
        doc(
            "The address of a PostgreSQL database, by the variable that holds it.",
            {"env": "DATABASE_URL"},
        ),
    ] = None
    pool: Annotated[
        int | None, doc("Connections to the database, 4 to 64. Default 6.", ge=4, le=64)
    ] = None
    node_: Annotated[
        SettingEntry | None,
        doc("This router's name among those that share it. Left out: the host's name."),
    ] = None


@named("'limits'")
class LimitsEntry(Entry):
    """`server.limits`: what the public listener accepts."""

    headers: Annotated[int | None, doc("Headers of a request. Default 100.", gt=0)] = None
    header_bytes: Annotated[Size | None, doc("Bytes of all headers. Default 16KiB.", gt=0)] = None
    uri_bytes: Annotated[Size | None, doc("Bytes of the address. Default 2KiB.", gt=0)] = None
    header_timeout: Annotated[
        Duration | None, doc("From the first byte to the last header. Default 5s.", gt=0)
    ] = None
    body_idle: Annotated[
        Duration | None,
        doc("Between two pieces of the body. Default 5s.", gt=0),
    ] = None
    body_total: Annotated[Duration | None, doc("The whole body. Default 30s.", gt=0)] = None
    keep_alive: Annotated[
        Duration | None, doc("Between two requests of a connection. Default 5s.", gt=0)
    ] = None
    answer: Annotated[
        Duration | None, doc("From the last byte of the body to our answer. Default 2500ms.", gt=0)
    ] = None
    in_flight: Annotated[
        Size | None, doc("Bodies being received, all together. Default 64MiB.", gt=0)
    ] = None
    in_flight_wait: Annotated[
        Duration | None,
        doc("How long a request waits for memory to become free. Default 2s.", gt=0),
    ] = None
    connections: Annotated[int | None, doc("Connections of one address. Default 64.", gt=0)] = None


@named("'retention'")
class KeepForEntry(Entry):
    """`retention` of an endpoint: how long its ended work is kept."""

    succeeded: Annotated[
        Duration | None, doc("Deliveries whose jobs all succeeded. Default 7d.")
    ] = None
    unmatched: Annotated[
        Duration | None,
        doc("Deliveries that no rule wanted. Default 7d."),
    ] = None
    dead: Annotated[Duration | None, doc("Deliveries with a dead job. Default 30d.")] = None


@named("'retention'")
class RetentionEntry(KeepForEntry):
    """`server.retention`: how long ended work is kept."""

    max_size: Annotated[
        Size | None, doc("Size of the store beyond which the oldest goes. Default 10GiB.")
    ] = None


@named("'egress'")
class EgressEntry(Entry):
    """`server.egress`: private ranges that host names may resolve to."""

    allow: Annotated[
        list[SourceText] | None,
        doc(
            "Private ranges that host names may resolve to.",
            ["10.20.0.0/16"],
            pattern=RANGE.pattern,
        ),
    ] = None


@named("'refusals'")
class RefusalsEntry(Entry):
    """`server.refusals`: what is kept of requests that were refused."""

    bodies: Annotated[
        bool | None,
        doc("Keep the last 16 refused requests whole, in memory, for `router doctor`."),
    ] = None


@named("'reload'")
class ReloadEntry(Entry):
    """`server.reload`: when the rules file is read again, and what must hold for it."""

    watch: Annotated[
        bool | None,
        doc("Notice changed files within a second. Default true; SIGHUP works always."),
    ] = None
    require_tests: Annotated[
        bool | None, doc("Only if the file's own tests succeed. Default false.")
    ] = None


@named("'server'")
class ServerEntry(Entry):
    """`server`: all optional; flags and ROUTER_* variables override."""

    base_url: Annotated[
        SettingEntry | None,
        doc(
            "The address that senders use; its path is part of every endpoint's.",
            "https://hooks.example.com",
            {"env": "ROUTER_BASE_URL"},
        ),
    ] = None
    listen: Annotated[
        SettingEntry | None,
        doc(
            "HOST:PORT of the public listener. Default 0.0.0.0:8000.",
            "0.0.0.0:8000",
            pattern=ADDRESS.pattern,
        ),
    ] = None
    admin: Annotated[
        AdminEntry | None,
        doc(
            "HOST:PORT of the admin listener. Default 127.0.0.1:8001.",
            "127.0.0.1:8001",
            pattern=ADDRESS.pattern,
        ),
    ] = None
    store: Annotated[
        StoreEntry | None,
        doc(
            "sqlite:FILE, relative to this file, or a PostgreSQL database. "
            "Default sqlite:router.db.",
            "sqlite:router.db",
            {"url": {"env": "DATABASE_URL"}},
            pattern=STORE.pattern,
        ),
    ] = None
    state_dir: Annotated[
        SourceText | None,
        doc(
            "The folder of what lies beside the store: the token, the last requests of `send`. "
            "Left out: that of the store's file; with PostgreSQL, that of this file.",
            "/var/lib/router",
        ),
    ] = None
    trusted_proxies: Annotated[
        list[SourceText] | None,
        doc(
            "Ranges of proxies whose X-Forwarded-For is believed.",
            ["10.0.0.0/8"],
            pattern=RANGE.pattern,
        ),
    ] = None
    egress: Annotated[EgressEntry | None, doc("Private addresses that may be called.")] = None
    retention: Annotated[RetentionEntry | None, doc("How long ended work is kept.")] = None
    limits: Annotated[LimitsEntry | None, doc("What the public listener accepts.")] = None
    grace: Annotated[
        Duration | None, doc("What running actions get when the router stops. Default 20s.")
    ] = None
    refusals: Annotated[
        RefusalsEntry | None, doc("What is kept of requests that were refused.")
    ] = None
    tls: Annotated[ListenerTlsEntry | None, doc("The certificate of the public listener.")] = None
    reload: Annotated[
        ReloadEntry | None, doc("When this file is read again, and what must hold for it.")
    ] = None
